# The version is the package's; before 1.0 a minor version may change what there is.
file(STRINGS "${CMAKE_CURRENT_LIST_DIR}/../__init__.py" _tvmffi_cubin_line
     REGEX "^__version__ = \"[0-9.]+" LIMIT_COUNT 1)
string(REGEX MATCH "[0-9]+\\.[0-9]+(\\.[0-9]+)?" PACKAGE_VERSION "${_tvmffi_cubin_line}")
unset(_tvmffi_cubin_line)

set(PACKAGE_VERSION_COMPATIBLE FALSE)
set(PACKAGE_VERSION_EXACT FALSE)
if(PACKAGE_FIND_VERSION_RANGE)
  if(PACKAGE_VERSION VERSION_GREATER_EQUAL PACKAGE_FIND_VERSION_MIN
     AND (PACKAGE_VERSION VERSION_LESS PACKAGE_FIND_VERSION_MAX
          OR (PACKAGE_FIND_VERSION_RANGE_MAX STREQUAL "INCLUDE"
              AND PACKAGE_VERSION VERSION_EQUAL PACKAGE_FIND_VERSION_MAX)))
    set(PACKAGE_VERSION_COMPATIBLE TRUE)
  endif()
elseif(PACKAGE_VERSION VERSION_GREATER_EQUAL PACKAGE_FIND_VERSION)
  string(REGEX MATCH "^(0\\.[0-9]+|[0-9]+)" _tvmffi_cubin_ours "${PACKAGE_VERSION}")
  string(REGEX MATCH "^(0\\.[0-9]+|[0-9]+)" _tvmffi_cubin_theirs "${PACKAGE_FIND_VERSION}.0")
  if(_tvmffi_cubin_ours STREQUAL _tvmffi_cubin_theirs)
    set(PACKAGE_VERSION_COMPATIBLE TRUE)
  endif()
  unset(_tvmffi_cubin_ours)
  unset(_tvmffi_cubin_theirs)
  if(PACKAGE_VERSION VERSION_EQUAL PACKAGE_FIND_VERSION)
    set(PACKAGE_VERSION_EXACT TRUE)
  endif()
endif()
