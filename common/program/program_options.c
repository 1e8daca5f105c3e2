#include "program/program_options.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/name.h"

enum {
        PREFIX_MAX_BYTES = 253, /* of a DNS subdomain, the prefix of annotation keys */
};

/* In the order of enum log_level and enum log_format. */
const char *const program_log_levels[] = {"debug", "info", "warn", "error", NULL};
const char *const program_log_formats[] = {"logfmt", "json", NULL};

int program_end(const char *program, int status) {
        if (fflush(stdout) == 0 && !ferror(stdout))
                return status;
        (void)fprintf(stderr, "%s: cannot write to standard output\n", program);
        return status == 0 ? PROGRAM_EXIT_RUNTIME : status;
}

int program_exit_code(const struct error *err) {
        switch (-err->code) {
        case EADDRINUSE:
        case EAGAIN:
        case EIO:
        case EMFILE:
        case ENFILE:
        case ENOBUFS:
        case ENOMEM:
                return PROGRAM_EXIT_RUNTIME;
        default:
                return PROGRAM_EXIT_CONFIG;
        }
}

void program_usage_error(const char *program, const struct error *err) {
        (void)fprintf(stderr, "%s: %s\nSee '%s --help'.\n", program, err->msg, program);
}

void program_refuse_usage(const char *program, const struct error *err) {
        _cleanup_(freep) char *hint = xasprintf("See '%s --help'.", program);

        if (isatty(STDERR_FILENO))
                program_usage_error(program, err);
        else
                log_error(MSG("cannot start"), ERR(err), STR("hint", hint));
}

void program_refuse_start(const char *program, const struct error *err) {
        if (isatty(STDERR_FILENO))
                (void)fprintf(stderr, "%s: cannot start: %s\n", program, err->msg);
        else
                log_error(MSG("cannot start"), ERR(err));
}

void program_begin(const char *program, const struct program_options *options,
                   const struct option_row *rows, size_t row_count) {
        const struct option_table table = {rows, row_count};
        size_t at = 0;

        log_set((enum log_level)options->log_level, (enum log_format)options->log_format);
        if (options->is_check_config)
                program_warn_variables(program, &table, 1);
        for (char *text;
             !options->is_check_config && (text = options_unknown_variable(&table, 1, &at)) != NULL;
             free(text))
                log_warn(MSG("ignoring a variable"), STR("error", text));
}

void program_warn_variables(const char *program, const struct option_table *tables, size_t count) {
        size_t at = 0;

        for (char *text; (text = options_unknown_variable(tables, count, &at)) != NULL; free(text))
                (void)fprintf(stderr, "%s: warning: %s\n", program, text);
}

/* "" or a DNS subdomain, with or without the slash that follows it in a key. */
static int read_prefix(const char *text, char **ret, struct error *err) {
        size_t len = strlen(text);

        if (len == 0) {
                *ret = xstrdup("");
                return 0;
        }
        if (text[len - 1] == '/')
                len--;
        if (!name_is_made_of(text, len, PREFIX_MAX_BYTES, NAME_LOWER "-.", "-.", "-."))
                return error_set(err, EINVAL,
                                 "--annotation-prefix=%.64s: expected a DNS name in lower case, "
                                 "such as load.example.com",
                                 text);
        *ret = xasprintf("%.*s/", (int)len, text);
        return 0;
}

int program_annotations_init(struct program_annotations *ret, const struct program_options *options,
                             struct error *err) {
        _cleanup_(freep) char *prefix = NULL;
        const struct zone *zone = NULL;

        int r = read_prefix(options->annotation_prefix, &prefix, err);
        if (r < 0)
                return r;
        r = zone_load(options->annotation_timezone, &zone, err);
        if (r < 0)
                return error_wrap(err, r, "--annotation-timezone");
        *ret = (struct program_annotations){.prefix = TAKE_PTR(prefix), .zone = zone};
        return 0;
}

void program_annotations_done(struct program_annotations *annotations) {
        free(annotations->prefix);
        *annotations = (struct program_annotations){0};
}
