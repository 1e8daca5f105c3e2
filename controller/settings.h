/*
 * The controller's command line: one table row per option, and checks across options.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/attributes.h"
#include "base/error.h"
#include "controller/controller.h"
#include "program/program_options.h"

struct settings {
        struct controller_options controller; /* without its sources */
        const char *sources_path;             /* a file with them; NULL: none */
        struct source_list_rules source_rules;
        struct source_list *sources; /* those of the flags; NULL: there is a file */
        struct source_spec kubelet;  /* see struct controller_options */
        struct program_options shared;
        struct program_annotations annotations; /* controller.compiled.style borrows them */
        bool has_server;                        /* health and metrics are served */
        const char *bind_address;               /* NULL: every address */
        int64_t health_port;
};

/**
 * settings_parse() - options and environment into @ret; all strings are borrowed from them
 *
 * Return: 0; -EINVAL, or the negative errno of a file that could not be read; @err says which
 */
_must_check_ int settings_parse(int argc, char **argv, enum options_outcome *ret_outcome,
                                struct settings *ret, struct error *err);
/** settings_begin() - program_begin() with these options */
void settings_begin(void);
void settings_help(FILE *out);
/** settings_check() - for --check-config: the file of sources, and policy_options_check() */
_must_check_ int settings_check(struct error *err);
/** settings_flagz() - the text of the page /flagz, see options_flagz(); owned by the caller */
char *settings_flagz(void);
/** settings_done() - frees the strings that @settings refers to */
void settings_done(struct settings *settings);
