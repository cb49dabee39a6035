"""`Dispatch`: instances in order."""

from tvmffi_cubin import Dispatch, Launch

ONE, TWO, THREE = (Launch(kernel=name) for name in ("one", "two", "three"))


def test_instances_are_launches_lists_of_them_and_the_instances_of_others():
    inner = Dispatch([ONE, [TWO, THREE]])
    assert inner.instances == ((ONE,), (TWO, THREE))
    assert Dispatch(iter([THREE, inner, (TWO,)])).instances == (
        *((THREE,), (ONE,), (TWO, THREE), (TWO,)),
    )
    assert Dispatch(ONE).instances == ((ONE,),)
