/*
 * The configured sources in order of preference, followed by the exporters. They come from the file
 * of --sources, or from flags.
 *
 *     sources:
 *     - kind: prometheus
 *       url: https://prometheus.monitoring:9090
 *       tls_config: {ca_file: /etc/prometheus-client/ca.crt}
 *     - kind: node-exporter
 *     - kind: exporter
 *       name: dcgm
 *       url: http://{address}:9400/metrics
 */
#pragma once

#include <stddef.h>

#include "base/attributes.h"
#include "base/error.h"
#include "controller/source/source.h"

struct source_list {
        struct tree *document; /* owns the strings of the file; NULL: the flags have them */
        struct source_spec specs[SOURCE_MAX];
        size_t count;         /* > 0 */
        size_t ordered_count; /* without the exporters; > 0 */
};

/* How to check a list. */
struct source_list_rules {
        const struct source_kind *const *kinds; /* all kinds; NULL-terminated */
        bool opens_files;                       /* files with credentials must exist and be valid */
        bool takes_targets; /* every source must be able to read a URL of --target */
};

/**
 * source_list_parse() - read a file's text
 * Return: 0; -EINVAL with "line N: sources[1].url: what" in @err, and other errors of tree_parse()
 */
_must_check_ int source_list_parse(const char *text, size_t len,
                                   const struct source_list_rules *rules, struct source_list **ret,
                                   struct error *err);
/** source_list_load() - read a file; @err also has its name */
_must_check_ int source_list_load(const char *path, const struct source_list_rules *rules,
                                  struct source_list **ret, struct error *err);
/** source_spec_default() - a source of this kind, as it is without fields and flags */
struct source_spec source_spec_default(const struct source_kind *kind);
/**
 * source_list_order() - read "prometheus,node-exporter" into sources with their defaults
 *
 * The caller may change them, and then calls source_list_check().
 * Return: 0; -EINVAL for an unknown, repeated or missing name
 */
_must_check_ int source_list_order(const char *text, const struct source_kind *const *kinds,
                                   struct source_list **ret, struct error *err);
/** source_list_check() - check all sources. Return: 0; -EINVAL, and @ret_wrong and @ret_field are
 * the source and its field */
_must_check_ int source_list_check(const struct source_list *list,
                                   const struct source_list_rules *rules,
                                   const struct source_spec **ret_wrong, const char **ret_field,
                                   struct error *err);
void source_list_free(struct source_list *list);
DEFINE_FREEP(struct source_list, source_list_free);

/** source_list_in_flight() - the number of requests that all sources together may send at a time */
size_t source_list_in_flight(const struct source_list *list, size_t nodes);
