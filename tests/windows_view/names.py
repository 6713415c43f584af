"""What Windows has of the modules that differ there, by the manual of Python 3.11."""

from __future__ import annotations

from typing import Final

# Modules that are not there at all.
MISSING: Final = frozenset(
    "crypt curses fcntl grp nis ossaudiodev posix pty pwd readline resource spwd syslog termios tty".split()
)

# Names of `os` with capitals; all others that start with one of these are missing.
OS_FLAGS: Final = (
    "O_",
    "P_",
    "PRIO_",
    "RTLD_",
    "SCHED_",
    "ST_",
    "W",
    "CLD_",
    "EFD_",
    "GRND_",
    "MFD_",
    "POSIX_",
    "RWF_",
    "SF_",
    "SPLICE_",
    "XATTR_",
    "F_",
    "NGROUPS_",
    "TMP_",
)
OS_KEPT: Final = frozenset(
    "O_APPEND O_CREAT O_EXCL O_RDONLY O_RDWR O_TRUNC O_WRONLY P_NOWAIT P_NOWAITO P_WAIT F_OK W_OK".split()
)

# Functions of `os` that only Unix has.
OS_MISSING: Final = frozenset(
    """
    WCOREDUMP WEXITSTATUS WIFCONTINUED WIFEXITED WIFSIGNALED WIFSTOPPED WSTOPSIG WTERMSIG chown chroot
    confstr confstr_names copy_file_range ctermid dev_major eventfd eventfd_read eventfd_write execlp
    fchdir fchmod fchown fdatasync fork forkpty fpathconf fstatvfs fwalk get_blocking getegid geteuid
    getgid getgrouplist getgroups getloadavg getpgid getpgrp getpriority getrandom getresgid getresuid
    getsid getuid getxattr initgroups killpg lchown listxattr lockf login_tty major makedev memfd_create
    minor mkfifo mknod nice openpty pathconf pathconf_names pidfd_open pipe2 posix_fadvise
    posix_fallocate posix_spawn posix_spawnp pread preadv pwrite pwritev readv register_at_fork
    removexattr sched_getaffinity sched_get_priority_max sched_get_priority_min sched_getparam
    sched_getscheduler sched_param sched_rr_get_interval sched_setaffinity sched_setparam
    sched_setscheduler sched_yield sendfile set_blocking setegid seteuid setgid setgroups setpgid
    setpriority setregid setresgid setresuid setreuid setsid setuid setxattr spawnlp spawnlpe spawnvp
    spawnvpe splice statvfs sync sysconf sysconf_names tcgetpgrp tcsetpgrp ttyname uname wait wait3
    wait4 waitid writev
    """.split()
)

# What is left of `mmap` and `signal`; of `signal`, of the names in capitals.
MMAP_KEPT: Final = frozenset(
    "mmap error ACCESS_READ ACCESS_WRITE ACCESS_COPY ACCESS_DEFAULT ALLOCATIONGRANULARITY PAGESIZE".split()
)
SIGNALS_KEPT: Final = frozenset(
    "SIGABRT SIGFPE SIGILL SIGINT SIGSEGV SIGTERM SIG_DFL SIG_IGN NSIG Signals Handlers".split()
)
SIGNAL_MISSING: Final = frozenset(
    """
    ITIMER_PROF ITIMER_REAL ITIMER_VIRTUAL ItimerError Sigmasks alarm getitimer itimer_error pause
    pidfd_send_signal pthread_kill pthread_sigmask setitimer siginterrupt sigpending sigtimedwait sigwait
    sigwaitinfo
    """.split()
)

# Arguments of subprocess.Popen that Windows refuses.
PROCESS_REFUSED: Final = frozenset("preexec_fn pass_fds process_group user group extra_groups umask".split())
