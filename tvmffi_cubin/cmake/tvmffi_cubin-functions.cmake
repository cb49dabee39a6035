# What tvmffi_cubin-config.cmake gives.

# tvmffi_cubin_compile(<output>
#   SOURCES <file>...  ARCH <arch>...
#   [CUBIN | FATBIN | PTX] [OPTIONS <option>...] [INCLUDE_DIRECTORIES <folder>...]
#   [NAME_EXPRESSIONS <name>...] [DEPENDS <file>...])
#
# Compiles CUDA sources to an image with NVRTC, at build time, again when a source or a header that
# it includes has changed. <output> is in the current binary directory, or absolute. Without a kind
# it is a PTX or a fatbin where its suffix says so. Several sources are separate units; several
# architectures, such as sm_90a or compute_90, make a fatbin.
function(tvmffi_cubin_compile output)
  set(kinds CUBIN FATBIN PTX)
  set(lists SOURCES ARCH OPTIONS INCLUDE_DIRECTORIES NAME_EXPRESSIONS DEPENDS)
  cmake_parse_arguments(PARSE_ARGV 1 arg "${kinds}" "" "${lists}")
  _tvmffi_cubin_check(tvmffi_cubin_compile "${arg_UNPARSED_ARGUMENTS}"
                      "${arg_KEYWORDS_MISSING_VALUES}")
  foreach(needed IN ITEMS SOURCES ARCH)
    if(NOT arg_${needed})
      message(FATAL_ERROR "tvmffi_cubin_compile(${output}): ${needed} is missing")
    endif()
  endforeach()

  set(kind cubin)
  if(output MATCHES "\\.(fatbin|ptx)$")
    set(kind "${CMAKE_MATCH_1}")
  endif()
  set(given "")
  foreach(name IN LISTS kinds)
    if(arg_${name})
      list(APPEND given "${name}")
      string(TOLOWER "${name}" kind)
    endif()
  endforeach()
  list(LENGTH given count)
  if(count GREATER 1)
    message(FATAL_ERROR "tvmffi_cubin_compile(${output}): ${given} are one too many")
  endif()

  cmake_path(ABSOLUTE_PATH output BASE_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}" NORMALIZE)
  cmake_path(GET output PARENT_PATH folder)
  file(MAKE_DIRECTORY "${folder}")
  set(sources "")
  foreach(source IN LISTS arg_SOURCES)
    _tvmffi_cubin_find("${source}" source)
    list(APPEND sources "${source}")
  endforeach()
  list(JOIN arg_ARCH "," archs)
  set(words --arch "${archs}" --target-type "${kind}")
  foreach(option IN LISTS arg_OPTIONS)
    list(APPEND words "--option=${option}")
  endforeach()
  foreach(folder IN LISTS arg_INCLUDE_DIRECTORIES)
    cmake_path(ABSOLUTE_PATH folder NORMALIZE)
    list(APPEND words -I "${folder}")
  endforeach()
  foreach(name IN LISTS arg_NAME_EXPRESSIONS)
    list(APPEND words "--name-expression=${name}")
  endforeach()
  add_custom_command(
    OUTPUT "${output}"
    COMMAND "${tvmffi_cubin_PYTHON}" "${tvmffi_cubin_TOOL}" compile ${sources} -o "${output}"
            --depfile "${output}.d" ${words}
    DEPENDS ${sources} ${arg_DEPENDS} "${tvmffi_cubin_TOOL}"
    DEPFILE "${output}.d"
    COMMENT "Compiling ${output}"
    VERBATIM)
endfunction()

# tvmffi_cubin_embed(<target> NAME <name> CUBIN <file>)
#
# Adds an image (a cubin, a fatbin or PTX) to a library or program, whose code declares it with
# EMBED_CUBIN(<name>) or TVM_FFI_EMBED_CUBIN(<name>); again when the file has changed. A relative
# path is one of the current source directory, else of the binary directory.
#
# Names are those of the linker: of static libraries that one program links, and of the program, the
# first image of a name would serve all. Give each its own.
function(tvmffi_cubin_embed target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "NAME;CUBIN" "")
  _tvmffi_cubin_check(tvmffi_cubin_embed "${arg_UNPARSED_ARGUMENTS}"
                      "${arg_KEYWORDS_MISSING_VALUES}")
  foreach(needed IN ITEMS NAME CUBIN)
    if(NOT arg_${needed})
      message(FATAL_ERROR "tvmffi_cubin_embed(${target}): ${needed} is missing")
    endif()
  endforeach()
  if(NOT arg_NAME MATCHES "^[A-Za-z_][A-Za-z0-9_]*$")
    message(FATAL_ERROR "tvmffi_cubin_embed(${target}): ${arg_NAME} is not a name that C can have")
  endif()
  if(NOT TARGET "${target}")
    message(FATAL_ERROR "tvmffi_cubin_embed: there is no target ${target}")
  endif()
  get_target_property(type "${target}" TYPE)
  if(NOT type MATCHES "^(EXECUTABLE|SHARED_LIBRARY|MODULE_LIBRARY|STATIC_LIBRARY)$")
    message(FATAL_ERROR "tvmffi_cubin_embed(${target}): it is of the type ${type}, which does not "
                        "link; embed into the library or program that links it")
  endif()
  get_target_property(folder "${target}" SOURCE_DIR)
  if(NOT folder STREQUAL CMAKE_CURRENT_SOURCE_DIR)
    message(FATAL_ERROR "tvmffi_cubin_embed(${target}): call it in ${folder}, where the target is")
  endif()
  _tvmffi_cubin_find("${arg_CUBIN}" cubin)
  set(object "${CMAKE_CURRENT_BINARY_DIR}/tvmffi_cubin/${target}/${arg_NAME}.o")
  add_custom_command(
    OUTPUT "${object}"
    COMMAND "${tvmffi_cubin_PYTHON}" "${tvmffi_cubin_TOOL}" embed --cubin "${cubin}" --output-obj
            "${object}" --name "${arg_NAME}" --machine "${CMAKE_SYSTEM_PROCESSOR}"
    DEPENDS "${cubin}" "${tvmffi_cubin_TOOL}"
    COMMENT "Embedding ${cubin} as ${arg_NAME}"
    VERBATIM)
  set_source_files_properties("${object}" PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  target_sources("${target}" PRIVATE "${object}")
endfunction()

function(_tvmffi_cubin_check function unparsed missing)
  if(unparsed)
    message(FATAL_ERROR "${function}: unknown arguments: ${unparsed}")
  endif()
  if(missing)
    message(FATAL_ERROR "${function}: nothing after ${missing}")
  endif()
endfunction()

# As add_custom_command has it for what it depends on.
function(_tvmffi_cubin_find path result)
  if(NOT path MATCHES "\\$<")
    set(here "${path}")
    cmake_path(ABSOLUTE_PATH here BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
    if(NOT EXISTS "${here}")
      set(here "${path}")
      cmake_path(ABSOLUTE_PATH here BASE_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}" NORMALIZE)
    endif()
    set(path "${here}")
  endif()
  set(${result} "${path}" PARENT_SCOPE)
endfunction()
