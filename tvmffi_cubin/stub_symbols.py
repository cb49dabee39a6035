"""Which symbols of the libraries of C++ and C stubs have: those that host code mostly calls.

The fewer there are, the faster a link is; one that is missing costs as much as it would save, since
then the library itself is linked. So wide characters, the strings and streams of old ABIs, facets
and what else few programs name themselves are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["chosen"]

# Of mangled names. The order is that of the Itanium ABI's grammar, then that of the library.
_UNUSUAL_CPP = re.compile(
    # Names of types, transactions, thunks, destructors that vtables have.
    r"^_ZTS|^_ZGTt|^_ZT[vhc]|D0Ev\Z"
    # Other characters, and strings of the ABI before C++11.
    r"|Iw|wchar|Ss|u7char16|char16_t|I[DC]s|IDi|u9__ieee128|__ldbl|__float128"
    r"|^_ZT?[NVT]?K?St(?:15basic_stringbuf|1[89]basic_[io]?stringstream)"
    # What the library keeps to itself, or for modes of its own.
    r"|_ZN?K?10__cxxabiv1|__gnu_|4_Impl|5_Impl|__facet_shims|__basic_file|_Catalogs|emutls"
    # Facets, but for ctype<char>.
    r"|time_get|time_put|money|messages|codecvt|collate|num_get|num_put|numpunct|timepunct"
    r"|ctype_byname|^_ZSt9(?:use|has)_facet"
    # Constants, and rarely used parts.
    r"|^_ZNSt14numeric_limits|numeric_limits_base|__numeric_|placeholders|valarray|gslice"
    r"|strstream|filesystem|3pmr|tzdb|time_zone|__cxx1998|__norm|^_ZNSt15_List_node_base"
    r"|basic_filebuf|basic_[io]?fstream|^_ZNK?St15basic_streambuf|10ctype_base"
)

# Of the C library: what <cstdlib>, <cstring> and the like have, and POSIX has beside that.
_USUAL_C = """
__assert_fail __ctype_b_loc __ctype_tolower_loc __ctype_toupper_loc __cxa_at_quick_exit
__cxa_atexit __cxa_finalize __cxa_thread_atexit_impl __errno_location __fprintf_chk __fread_chk
__isoc23_sscanf __isoc23_strtol __isoc23_strtoll __isoc23_strtoul __isoc23_strtoull __isoc99_fscanf
__isoc99_sscanf __libc_single_threaded __memcpy_chk __memmove_chk __memset_chk __printf_chk
__read_chk __snprintf_chk __sprintf_chk __stack_chk_fail __strcat_chk __strcpy_chk __strncpy_chk
__vsnprintf_chk _exit abort abs access aligned_alloc asctime asprintf atof atoi atol atoll basename
bcmp bsearch calloc chdir chmod clearerr clock clock_getres clock_gettime clock_nanosleep close
closedir ctime difftime dirname div dl_iterate_phdr dladdr dlclose dlerror dlopen dlsym dlvsym dup
dup2 environ execv execve execvp exit explicit_bzero fclose fcntl fdopen feof ferror fflush fgetc
fgetpos fgets fileno flock fopen fopen64 fork fprintf fputc fputs fread free freopen frexp fscanf
fseek fseeko fseeko64 fsetpos fstat fstat64 fsync ftell ftello ftello64 ftruncate fwrite getc
getchar getcwd getegid getenv geteuid getgid gethostname getline getopt getopt_long getpagesize
getpid getppid getrandom getrusage gettid gettimeofday getuid gmtime gmtime_r ioctl isalnum isalpha
isatty iscntrl isdigit isgraph islower isprint ispunct isspace isupper isxdigit kill labs ldexp
ldiv llabs lldiv localeconv localtime localtime_r lseek lstat madvise malloc malloc_usable_size
mblen memalign memchr memcmp memcpy memmem memmove mempcpy memrchr memset mkdir mkdtemp mkstemp
mktime mlock mmap mmap64 modf mprotect mremap msync munlock munmap nanosleep open open64 opendir
optarg optind perror pipe poll posix_fadvise posix_memalign pread pread64 printf process_vm_readv
putc putchar putenv puts pwrite pwrite64 qsort quick_exit raise rand rand_r random read readdir
readdir64 readlink realloc reallocarray realpath recv remove rename rewind rmdir scalbn
sched_getaffinity sched_getcpu sched_setaffinity sched_yield secure_getenv select send setbuf
setenv setlocale setvbuf shm_open shm_unlink sigaction sigaddset sigemptyset sigfillset signal
sigprocmask sleep snprintf socket sprintf srand srandom sscanf stat stat64 stderr stdin stdout
stpcpy strcasecmp strcat strchr strchrnul strcmp strcoll strcpy strcspn strdup strerror strerror_r
strftime strlen strncasecmp strncat strncmp strncpy strndup strnlen strpbrk strrchr strsep
strsignal strspn strstr strtod strtof strtok strtok_r strtol strtold strtoll strtoul strtoull
strxfrm syscall sysconf sysinfo system time timespec_get tmpfile tolower toupper uname ungetc
unlink unsetenv usleep vasprintf vfprintf vprintf vsnprintf vsprintf vsscanf waitpid write
"""
_USUAL_THREADS = re.compile(
    r"(?:__)?pthread_(?:atfork|cond|create|detach|equal|exit|get|join|key|mutex|once|rwlock"
    r"|self|set|sigmask|spin)|sem_|call_once$"
)

# Of libm: what is for other formats than float, double and long double, and complex numbers.
_UNUSUAL_MATH = re.compile(
    r"_|.*f(?:16|32|64|128)x?(?:_r)?\Z|f(?:32|64)"
    r"|c(?:abs|a?(?:cos|sin|tan)h?|arg|exp|imag|log|log10|pow|proj|real|sqrt)[fl]?\Z"
)
_USUAL_MATH = re.compile(r"__(?:fpclassify|signbit)[fl]?\Z")


def chosen(library: str, names: Iterable[str]) -> set[str]:
    """Return those symbols of a library that a stub of it has in any case.

    Parameters
    ----------
    library : str
        ``"stdc++"``, ``"c"`` or ``"m"``.
    names : iterable of str
        All that it has.
    """
    if library == "stdc++":
        return {name for name in names if not _UNUSUAL_CPP.search(name)}
    if library == "c":
        usual = frozenset(_USUAL_C.split())
        return {name for name in names if name in usual or _USUAL_THREADS.match(name)}
    return {x for x in names if _USUAL_MATH.match(x) or not _UNUSUAL_MATH.match(x)}
