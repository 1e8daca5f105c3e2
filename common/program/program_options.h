/*
 * The options that both programs have: rows for the option table, and what is made of their values.
 *
 *     static struct program_options shared;
 *     static const struct option_row rows[] = {
 *             PROGRAM_POLICY_ROWS(shared),
 *             ...
 *     };
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "base/attributes.h"
#include "base/error.h"
#include "base/zone.h"
#include "kube/kube_access.h"
#include "program/options.h"

enum { PROGRAM_EXIT_RUNTIME = 1, PROGRAM_EXIT_CONFIG = 2 };

/* Where the rows put their values. */
struct program_options {
        const char *policy_path;
        bool is_strict, is_check_config, has_status_page;
        struct kube_access_options kube;
        const char *annotation_prefix, *annotation_timezone;
        int log_level, log_format;
};

extern const char *const program_log_levels[];
extern const char *const program_log_formats[];

/* clang-format off */
#define PROGRAM_POLICY_ROWS(o)                                                                     \
        {.name = "policy-config-path", .type = OPTION_STRING, .value = &(o).policy_path,           \
         .metavar = "FILE",                                                                        \
         .help = "File with the DynamicSchedulerPolicy, in YAML or JSON. It is read again when "   \
                 "it changes, also through a symbolic link as in a ConfigMap volume, and on "      \
                 "SIGHUP; if it cannot be loaded, the previous policy stays in force. Default: "   \
                 "the cluster's DynamicSchedulerPolicy named default, which is followed; without " \
                 "one the built-in policy, see --check-config."},                                  \
        {.name = "strict", .type = OPTION_BOOL, .value = &(o).is_strict,                           \
         .help = "Treat what looks misspelt in the policy as an error instead of a warning."}

#define PROGRAM_CHECK_ROW(o)                                                                       \
        {.name = "check-config", .type = OPTION_BOOL, .value = &(o).is_check_config,               \
         .help = "Check the options, the files that they name and the policy, print the "          \
                 "resulting configuration, and exit with 0 or 2."}

/* @text: what the page shows, which is not the same in both */
#define PROGRAM_STATUS_PAGE_ROW(o, text)                                                           \
        {.name = "status-page", .type = OPTION_BOOL, .value = &(o).has_status_page,                \
         .fallback = "true", .help = text}

#define PROGRAM_ANNOTATION_ROWS(o)                                                                 \
        {.name = "annotation-prefix", .type = OPTION_STRING, .value = &(o).annotation_prefix,      \
         .fallback = "", .metavar = "DOMAIN",                                                      \
         .help = "DNS prefix of the annotation keys, such as load.example.com. Default: none, "    \
                 "as in crane."},                                                                  \
        {.name = "annotation-timezone", .type = OPTION_STRING,                                     \
         .value = &(o).annotation_timezone, .fallback = "UTC", .metavar = "ZONE",                  \
         .help = "Time zone of the timestamps in annotations, which end in Z nevertheless. Only "  \
                 "for use together with crane, which writes the local time of $TZ, by default "    \
                 "Asia/Shanghai."}

#define PROGRAM_KUBE_ROWS(o)                                                                       \
        {.name = "kubeconfig", .type = OPTION_STRING, .value = &(o).kube.kubeconfig,               \
         .metavar = "FILE",                                                                        \
         .help = "kubeconfig file with the access to the API server. Default: the pod's service "  \
                 "account, else $KUBECONFIG, else ~/.kube/config."},                               \
        {.name = "master", .type = OPTION_STRING, .value = &(o).kube.master, .metavar = "URL",     \
         .help = "URL of the API server; overrides the kubeconfig."}

#define PROGRAM_LOG_ROWS(o)                                                                        \
        {.name = "log-level", .type = OPTION_ENUM, .value = &(o).log_level, .fallback = "info",    \
         .choices = program_log_levels, .help = "Lowest level of log lines to write."},            \
        {.name = "log-format", .type = OPTION_ENUM, .value = &(o).log_format,                      \
         .fallback = "logfmt", .choices = program_log_formats, .help = "Format of log lines."}
/* clang-format on */

/**
 * program_end() - flush standard output; the last call of a main
 *
 * A full disk shows only then, and exit() ignores it.
 * Return: @status; PROGRAM_EXIT_RUNTIME instead of 0 when output was lost, which stderr reports
 */
_must_check_ int program_end(const char *program, int status);

/**
 * program_exit_code() - the status of a program that cannot start
 * Return: PROGRAM_EXIT_RUNTIME where a retry may help (a port in use; out of memory, threads or
 * descriptors), else PROGRAM_EXIT_CONFIG
 */
int program_exit_code(const struct error *err);

/** program_usage_error() - print the error and where to find help: "program: unknown flag --prot;
 * did you mean --port?", "See 'program --help'." */
void program_usage_error(const char *program, const struct error *err);

/* Why a daemon cannot start: sentences on a terminal, a log line elsewhere. */

/** program_refuse_usage() - its flags are wrong */
void program_refuse_usage(const char *program, const struct error *err);
/** program_refuse_start() - for any other reason */
void program_refuse_start(const char *program, const struct error *err);

/** program_log_set() - log_set() with the values of PROGRAM_LOG_ROWS */
void program_log_set(const struct program_options *options);

/* The values of PROGRAM_ANNOTATION_ROWS, checked. */
struct program_annotations {
        char *prefix;            /* "" or "load.example.com/" */
        const struct zone *zone; /* NULL: UTC */
};

/**
 * program_annotations_init() - from the options; call once per process (see base/zone.h)
 * Return: 0; -EINVAL or -ENOENT, @err names the flag
 */
_must_check_ int program_annotations_init(struct program_annotations *ret,
                                          const struct program_options *options, struct error *err);
void program_annotations_done(struct program_annotations *annotations);
