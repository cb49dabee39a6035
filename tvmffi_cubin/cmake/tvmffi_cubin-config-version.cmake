# The version is the package's; it serves whoever asks for no newer one.
file(STRINGS "${CMAKE_CURRENT_LIST_DIR}/../__init__.py" _tvmffi_cubin_line
     REGEX "^__version__ = \"[0-9.]+" LIMIT_COUNT 1)
string(REGEX MATCH "[0-9]+\\.[0-9]+(\\.[0-9]+)?" PACKAGE_VERSION "${_tvmffi_cubin_line}")
unset(_tvmffi_cubin_line)

set(PACKAGE_VERSION_COMPATIBLE TRUE)
if(PACKAGE_VERSION VERSION_LESS PACKAGE_FIND_VERSION)
  set(PACKAGE_VERSION_COMPATIBLE FALSE)
endif()
