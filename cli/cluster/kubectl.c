#include "cli/cluster/kubectl.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"

enum { OUTPUT_MAX_BYTES = 4096, EXIT_NOT_FOUND = 127 };

struct kubectl {
        char *directory, *socket;
        pid_t pid;  /* 0: not running */
        int status; /* from waitpid() */
        int output; /* -1: none */
};

/* ---- The command line. */

struct command {
        char **words;
        size_t count, cap;
};

static void command_done(struct command *command) {
        for (size_t i = 0; i < command->count; i++)
                free(command->words[i]);
        free(command->words);
}

static void add_word(struct command *command, char *word) {
        mem_grow(&command->words, command->count, &command->cap);
        command->words[command->count++] = word;
}

static void add_flags(struct command *command, const struct kubectl_flags *flags) {
        struct kubectl_flags copy = *flags;
        const struct option_row rows[] = {KUBECTL_ROWS(copy)};

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                const struct option_row *row = &rows[i];
                const struct option_list *list = row->value;
                const char *const *text = row->value;
                if (row->type == OPTION_BOOL && *(const bool *)row->value)
                        add_word(command, xasprintf("--%s", row->name));
                if (row->type == OPTION_STRING && *text)
                        add_word(command, xasprintf("--%s=%s", row->name, *text));
                for (size_t j = 0; row->type == OPTION_LIST && j < list->count; j++)
                        add_word(command, xasprintf("--%s=%s", row->name, list->items[j]));
        }
}

bool kubectl_is_flag_set(const struct kubectl_flags *flags) {
        _cleanup_(command_done) struct command command = {0};

        add_flags(&command, flags);
        return command.count > 0;
}

/* $KUBECTL may be several words. */
static void add_program(struct command *command) {
        const char *program = getenv("KUBECTL");

        for (const char *at = program ? program : ""; *at;) {
                size_t len = strcspn(at, " ");
                if (len > 0)
                        add_word(command, xmemdup0(at, len));
                at += len + (at[len] == ' ');
        }
        if (command->count == 0)
                add_word(command, xstrdup("kubectl"));
}

/* ---- The process. */

/*
 * Start a process that is killed when this one ends, even if that is killed itself.
 * @ret_output: what it prints, owned by the caller
 * Return: its pid; -errno
 */
static pid_t start_process(const struct command *command, bool is_quiet, int *ret_output) {
        pid_t parent = getpid();
        int output[2];

        if (pipe2(output, O_CLOEXEC) < 0)
                return -errno;
        pid_t pid = fork();
        if (pid == 0) {
                (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
                if (getppid() != parent)
                        _exit(EXIT_NOT_FOUND);
                (void)dup2(output[1], STDOUT_FILENO);
                if (is_quiet)
                        (void)dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);
                (void)execvp(command->words[0], command->words);
                _exit(EXIT_NOT_FOUND);
        }
        int code = errno;
        (void)close(output[1]);
        if (pid > 0)
                *ret_output = output[0];
        else
                (void)close(output[0]);
        return pid > 0 ? pid : -code;
}

/* Read the output until it is closed, or until @end is printed. Text before @end is a question,
 * such as for a user name, and is shown. */
static void read_output(int fd, const char *end, char text[static OUTPUT_MAX_BYTES]) {
        size_t len = 0;

        text[0] = '\0';
        while (len < OUTPUT_MAX_BYTES - 1 && !(end && strstr(text, end))) {
                ssize_t n = read(fd, text + len, OUTPUT_MAX_BYTES - 1 - len);
                if (n <= 0)
                        break;
                text[len + (size_t)n] = '\0';
                if (end && !strstr(text, end))
                        (void)fputs(text + len, stderr);
                len += (size_t)n;
        }
}

static int describe_end(const struct kubectl *kubectl, struct error *err) {
        int how = kubectl->status;
        int status = WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);

        if (status == EXIT_NOT_FOUND)
                return error_set(err, EPIPE,
                                 "cannot run kubectl: it must be on the PATH, or KUBECTL must name "
                                 "it");
        return error_set(err, EPIPE, "kubectl proxy ended with status %d", status);
}

/* ---- Start and end. */

/* Of the kubectl that runs. */
static const struct kubectl *running;

static void remove_socket(const struct kubectl *kubectl) {
        (void)unlink(kubectl->socket);
        (void)rmdir(kubectl->directory);
}

static void on_ending_signal(int number) {
        remove_socket(running);
        (void)signal(number, SIG_DFL);
        (void)raise(number);
}

/* Those that are ignored, as under nohup, or that a verb handles, stay as they are. */
static void handle_ending_signals(bool is_running) {
        static const int numbers[] = {SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTERM};
        struct sigaction now, other = {.sa_handler = is_running ? on_ending_signal : SIG_DFL};

        for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
                (void)sigaction(numbers[i], NULL, &now);
                if (now.sa_handler == (is_running ? SIG_DFL : on_ending_signal))
                        (void)sigaction(numbers[i], &other, NULL);
        }
}

static int make_directory(struct kubectl *kubectl, struct error *err) {
        const char *temporary = getenv("TMPDIR");

        kubectl->directory = xasprintf("%s/plimsoll-XXXXXX",
                                       temporary && *temporary ? temporary : "/tmp");
        if (!mkdtemp(kubectl->directory))
                return error_set(err, errno, "cannot make a directory for kubectl's socket: %s: %s",
                                 kubectl->directory, strerror(errno));
        kubectl->socket = xasprintf("%s/kubectl", kubectl->directory);
        return 0;
}

/* Returns when it has ended. */
static void kill_process(struct kubectl *kubectl) {
        if (kubectl->pid > 0) {
                (void)kill(kubectl->pid, SIGKILL);
                (void)waitpid(kubectl->pid, &kubectl->status, 0);
        }
        kubectl->pid = 0;
}

int kubectl_start(const struct kubectl_flags *flags, struct kubectl **ret, struct error *err) {
        _cleanup_(kubectl_freep) struct kubectl *kubectl = xcalloc(1, sizeof(*kubectl));
        _cleanup_(command_done) struct command command = {0};
        char text[OUTPUT_MAX_BYTES];

        kubectl->output = -1;
        int r = make_directory(kubectl, err);
        if (r < 0)
                return r;
        add_program(&command);
        add_word(&command, xstrdup("proxy"));
        add_word(&command, xasprintf("--unix-socket=%s", kubectl->socket));
        /* The server may be https://host/k8s/clusters/name. */
        add_word(&command, xstrdup("--append-server-path"));
        add_flags(&command, flags);
        add_word(&command, NULL);
        running = kubectl;
        handle_ending_signals(true);
        r = start_process(&command, false, &kubectl->output);
        if (r < 0)
                return error_set(err, -r, "cannot start kubectl: %s", strerror(-r));
        kubectl->pid = r;
        read_output(kubectl->output, "Starting to serve on ", text);
        if (!strstr(text, "Starting to serve on ")) {
                kill_process(kubectl); /* the status of one that is ending stays as it is */
                return describe_end(kubectl, err);
        }
        *ret = TAKE_PTR(kubectl);
        return 0;
}

const char *kubectl_socket(const struct kubectl *kubectl) {
        return kubectl->socket;
}

int kubectl_check(struct kubectl *kubectl, struct error *err) {
        if (kubectl->pid > 0 && waitpid(kubectl->pid, &kubectl->status, WNOHANG) == 0)
                return 0;
        kubectl->pid = 0;
        return describe_end(kubectl, err);
}

void kubectl_free(struct kubectl *kubectl) {
        if (!kubectl)
                return;
        kill_process(kubectl);
        if (kubectl->socket) {
                handle_ending_signals(false);
                remove_socket(kubectl);
        }
        if (kubectl->output >= 0)
                (void)close(kubectl->output);
        free(kubectl->directory);
        free(kubectl->socket);
        free(kubectl);
}

char *kubectl_namespace(const struct kubectl_flags *flags) {
        _cleanup_(command_done) struct command command = {0};
        char text[OUTPUT_MAX_BYTES];
        int output = -1, status = -1;

        add_program(&command);
        add_word(&command, xstrdup("config"));
        add_word(&command, xstrdup("view"));
        add_word(&command, xstrdup("--minify"));
        add_word(&command, xstrdup("--output=jsonpath={.contexts[0].context.namespace}"));
        add_flags(&command, flags);
        add_word(&command, NULL);
        /* kubectl fails without a context, as with --server alone. That is not an error. */
        pid_t pid = start_process(&command, true, &output);
        if (pid < 0)
                return NULL;
        read_output(output, NULL, text);
        (void)close(output);
        (void)waitpid(pid, &status, 0);
        return status == 0 && text[0] ? xstrdup(text) : NULL;
}
