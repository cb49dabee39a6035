"""What our headers of the C++ library say, which the host's library says as well."""

CLAIMS = {
    "limits": """
        using std::numeric_limits;
        static_assert(numeric_limits<int>::max() == INT_MAX);
        static_assert(numeric_limits<int>::min() == INT_MIN);
        static_assert(numeric_limits<unsigned long long>::max() == ULLONG_MAX);
        static_assert(numeric_limits<int>::digits == 31 && numeric_limits<int>::digits10 == 9);
        static_assert(numeric_limits<uint64_t>::digits == 64 && numeric_limits<char>::is_integer);
        static_assert(numeric_limits<bool>::max() && !numeric_limits<unsigned>::is_signed);
        static_assert(numeric_limits<float>::max() == FLT_MAX && numeric_limits<float>::min() > 0);
        static_assert(numeric_limits<double>::infinity() > DBL_MAX);
        static_assert(numeric_limits<float>::lowest() == -FLT_MAX);
        static_assert(numeric_limits<double>::quiet_NaN() != numeric_limits<double>::quiet_NaN());
        static_assert(numeric_limits<float>::denorm_min() > 0 && FLT_EPSILON > 0);
        static_assert(1.0f + numeric_limits<float>::epsilon() > 1.0f);
        static_assert(numeric_limits<float>::max_digits10 == 9);
        static_assert(numeric_limits<double>::digits10 == DBL_DIG);
        static_assert(numeric_limits<float>::min() == FLT_MIN);
        static_assert(numeric_limits<double>::epsilon() == DBL_EPSILON);
        static_assert(numeric_limits<double>::min_exponent == DBL_MIN_EXP);
        static_assert(numeric_limits<float>::min_exponent10 == -37);
        static_assert(numeric_limits<double>::max_exponent10 == 308);
        static_assert(!numeric_limits<bool>::is_modulo && numeric_limits<bool>::digits == 1);
        """,
    "type_traits": """
        enum E : short {};
        struct A {}; struct B : A { B(int); int* p; };
        static_assert(std::is_same_v<std::remove_cvref_t<const int&>, int>);
        static_assert(std::is_same_v<std::decay_t<int[3]>, int*>);
        static_assert(std::is_same_v<std::decay_t<int (&)(int)>, int (*)(int)>);
        static_assert(std::is_same_v<std::conditional_t<true, A, B>, A>);
        static_assert(std::is_same_v<std::make_signed_t<unsigned long long>, long long>);
        static_assert(std::is_same_v<std::make_unsigned_t<const long>, const unsigned long>);
        static_assert(std::is_same_v<std::underlying_type_t<E>, short>);
        static_assert(std::is_same_v<std::remove_pointer_t<int* const>, int>);
        static_assert(std::alignment_of_v<short> == 2 && std::is_unsigned_v<bool>);
        static_assert(std::is_integral_v<const long> && !std::is_integral_v<float>);
        static_assert(std::is_floating_point_v<double> && std::is_arithmetic_v<char>);
        static_assert(!std::is_signed_v<A> && !std::is_unsigned_v<A>);
        static_assert(std::is_pointer_v<int* const> && !std::is_pointer_v<int>);
        static_assert(std::is_base_of_v<A, B> && std::is_convertible_v<int, B>);
        static_assert(std::is_enum_v<E> && std::is_class_v<A> && std::is_empty_v<A>);
        static_assert(std::is_trivially_copyable_v<B> && std::is_constructible_v<B, int>);
        static_assert(std::conjunction_v<std::true_type, std::negation<std::false_type>>);
        static_assert(std::is_same_v<std::common_type_t<char, int, float>, float>);
        template <class T, class = void> struct Counts : std::false_type {};
        template <class T>
        struct Counts<T, std::void_t<std::common_type_t<T, int>>> : std::true_type {};
        static_assert(Counts<char>::value && !Counts<A>::value);
        struct C { C(const C&); C& operator=(C&&); ~C() = delete; };
        static_assert(std::is_nothrow_move_constructible_v<A> && std::is_destructible_v<A>);
        static_assert(std::is_trivially_copy_assignable_v<A> && !std::is_destructible_v<C>);
        static_assert(std::is_same_v<std::invoke_result_t<int (*)(float), float>, int>);
        static_assert(std::is_invocable_v<int (*)(float), int> && !std::is_invocable_v<A, int>);
        static_assert(std::is_same_v<std::add_lvalue_reference_t<void>, void>);
        static_assert(std::is_same_v<std::add_rvalue_reference_t<int&>, int&>);
        static_assert(std::extent_v<int[3][4], 1> == 4 && std::extent_v<int[3][4]> == 3);
        static_assert(alignof(std::aligned_storage_t<6, 4>) == 4);
        static_assert(sizeof(std::aligned_storage_t<4>) == 16);
        static_assert(std::is_function_v<int(int)> && !std::is_function_v<int (*)(int)>);
        static_assert(std::is_scalar_v<E> && !std::is_scalar_v<A>);
        static_assert(std::is_object_v<A> && !std::is_object_v<int&> && !std::is_object_v<void>);
        static_assert(std::is_trivial_v<A> && !std::is_trivial_v<B> && std::is_aggregate_v<A>);
        static_assert(std::is_default_constructible_v<A> && !std::is_default_constructible_v<B>);
        static_assert(std::is_copy_constructible_v<B> && std::is_move_assignable_v<B>);
        static_assert(!std::is_copy_assignable_v<const int> && std::is_assignable_v<int&, short>);
        static_assert(std::is_trivially_destructible_v<B> && std::is_fundamental_v<void>);
        static_assert(!std::conjunction_v<std::false_type, A> && std::conjunction_v<>);
        static_assert(std::disjunction_v<std::true_type, A> && !std::disjunction_v<>);
        template <class T, std::enable_if_t<std::is_integral_v<T>, int> = 0> T f(T x) { return x; }
        static_assert(std::integral_constant<int, 3>::value == 3 && std::true_type{});
        """,
    "utility": """
        template <size_t... I> constexpr size_t sum(std::index_sequence<I...>) { return (I + ...); }
        using Two = std::integer_sequence<int, 0, 1>;
        static_assert(std::is_same_v<std::make_integer_sequence<int, 2>, Two>);
        static_assert(sum(std::make_index_sequence<1000>()) == 499500);
        static_assert(std::make_index_sequence<0>::size() == 0);
        constexpr int swapped() { int a = 1, b = 2; std::swap(a, b); return a * 10 + b; }
        static_assert(swapped() == 21);
        constexpr int exchanged() { int a = 1; int b = std::exchange(a, 5); return a * 10 + b; }
        static_assert(exchanged() == 51);
        static_assert(std::make_pair(1, 2.5f).second == 2.5f);
        static_assert(std::is_same_v<decltype(std::declval<int>()), int&&>);
        constexpr std::pair<int*, float> null(0, 1);
        static_assert(std::pair<long, double>(std::make_pair(1, 2.5f)).second == 2.5);
        static_assert(std::make_pair(1, 2) < std::make_pair(1, 3));
        constexpr int bound() {
          auto [a, b] = std::make_pair(1, 2);
          auto one = std::make_pair(3, 4);
          auto& [c, d] = one;
          c = 5;
          return a * 1000 + b * 100 + one.first * 10 + d;
        }
        static_assert(bound() == 1254);
        static_assert(std::make_pair(1, 2) == std::make_pair(1, 2) && null.second == 1);
        static_assert(std::is_same_v<decltype(std::pair(1, 'c')), std::pair<int, char>>);
        """,
    "tuple": """
        struct Empty {};
        using Three = std::tuple<char, double, short>;
        constexpr Three three('a', 2.5, 3);
        static_assert(std::get<0>(three) == 'a');
        static_assert(sizeof(Three) == 24 && sizeof(std::tuple<Empty, int>) == 4);
        static_assert(std::tuple_size_v<const Three> == 3 && std::tuple_size_v<std::tuple<>> == 0);
        static_assert(std::is_same_v<std::tuple_element_t<1, const Three>, const double>);
        static_assert(std::get<1>(std::make_tuple(1, 2.0f)) == 2 && std::get<2>(Three()) == 0);
        static_assert(std::is_same_v<decltype(std::tuple(1, 'c')), std::tuple<int, char>>);
        constexpr int tied() {
          int a = 0, b = 0;
          std::tie(a, b) = std::make_tuple(1, 2);
          auto both = std::make_tuple(a, b);
          std::get<0>(both) = 5;
          std::tie(a, b) = std::make_pair(a, 8);
          auto [x, y] = both;
          return a * 1000 + b * 100 + x * 10 + y;
        }
        static_assert(tied() == 1852);
        struct Sum {
          template <class... T> constexpr double operator()(T... x) const { return (x + ...); }
        };
        static_assert(std::apply(Sum(), three) == 'a' + 5.5);
        static_assert(std::get<1>(std::tuple<long, double>(std::tuple(1, 2.5f))) == 2.5);
        static_assert(std::get<1>(std::make_pair(1, 2)) == 2);
        static_assert(std::tuple_size_v<std::pair<int, int>> == 2);
        """,
    "array": """
        constexpr std::array<int, 3> three{1, 2, 3};
        static_assert(three[0] == 1 && three.back() == 3 && three.size() == 3 && !three.empty());
        static_assert(sizeof(std::array<char, 5>) == 5 && std::array<int, 0>().empty());
        static_assert(std::get<1>(three) == 2 && std::tuple_size_v<decltype(three)> == 3);
        static_assert(std::is_same_v<decltype(std::array{1, 2}), std::array<int, 2>>);
        static_assert(std::is_trivially_copyable_v<std::array<float, 2>>);
        constexpr int summed() {
          std::array<int, 4> all = {{4, 3}};
          all[2] = three.at(1);
          int sum = 0;
          for (int x : all) sum += x;
          auto [a, b, c] = three;
          return sum * 100 + c * 10 + *(three.end() - 2);
        }
        static_assert(summed() == 932);
        static_assert(three == three && !(three != three));
        """,
    "algorithm": """
        static_assert(std::min(1, 2) == 1 && std::max(1, 2) == 2 && std::clamp(5, 1, 3) == 3);
        struct Greater { constexpr bool operator()(int a, int b) const { return a > b; } };
        static_assert(std::min(1, 2, Greater()) == 2 && std::max(1, 2, Greater()) == 1);
        static_assert(std::min({3, 1, 2}) == 1 && std::max({sizeof(int), sizeof(char)}) == 4);
        """,
    "cstdint": """
        static_assert(INT32_MAX == 2147483647 && UINT8_MAX == 255 && INT64_MIN < 0);
        static_assert(SIZE_MAX == size_t(-1) && UINT64_MAX == uint64_t(-1));
        static_assert(sizeof(std::int_least16_t) == 2 && sizeof(std::uint64_t) == 8);
        """,
    "cmath": """
        #include <type_traits>
        template <class T, class U> constexpr bool kSame = std::is_same_v<T, U>;
        static_assert(kSame<decltype(std::pow(1.0f, 2.0)), double>);
        static_assert(kSame<decltype(pow(2, 3u)), double>);
        static_assert(kSame<decltype(std::fmax(1.0f, 1.0f)), float>);
        static_assert(kSame<decltype(std::fmin(1.0, 2.0f)), double>);
        static_assert(kSame<decltype(std::fmod(1.0f, 2L)), double>);
        static_assert(kSame<decltype(std::hypot(short(1), 2.0f)), double>);
        static_assert(kSame<decltype(std::fma(1.0f, 2.0f, 3.0f)), float>);
        static_assert(kSame<decltype(std::fma(1.0f, 2.0, 3)), double>);
        static_assert(kSame<decltype(std::sqrt(2)), double>);
        static_assert(kSame<decltype(std::sqrt(2.0f)), float>);
        static_assert(kSame<decltype(std::floor(7ull)), double>);
        static_assert(kSame<decltype(std::isnan(3)), bool>);
        """,
    "cstddef": """
        struct S { char c; double d; };
        __device__ unsigned long at = offsetof(S, d);
        static_assert(sizeof(std::byte) == 1 && sizeof(std::nullptr_t) == 8);
        """,
}
