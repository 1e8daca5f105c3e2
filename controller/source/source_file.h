/*
 * Watches the file of --sources. If its sources change and are valid, they replace the previous
 * ones; otherwise, the previous ones go on.
 */
#pragma once

#include "base/attributes.h"
#include "base/error.h"
#include "controller/source/source_list.h"
#include "metrics/metrics.h"
#include "net/health.h"
#include "net/loop.h"

struct source_file_options {
        struct loop *loop;
        struct metrics *metrics;
        struct health *health;
        const char *path;
        struct source_list_rules rules;
        /** on_list() - @list is borrowed until the next call; the previous list until this returns
         */
        void (*on_list)(void *userdata, const struct source_list *list);
        void *userdata;
};

struct source_file;

/**
 * source_file_new() - load the file and watch it
 * @options:  strings are borrowed
 * @ret_list: the first list, valid until on_list()
 * Return: 0; negative errno if it cannot be loaded
 */
_must_check_ int source_file_new(const struct source_file_options *options,
                                 struct source_file **ret, const struct source_list **ret_list,
                                 struct error *err);
void source_file_free(struct source_file *file);
DEFINE_FREEP(struct source_file, source_file_free);

/** source_file_reload() - read the file now, for SIGHUP; @file may be NULL */
void source_file_reload(struct source_file *file);
