/*
 * The flags of one of our programs that runs in a pod: from its command line, or else from its
 * environment, or else the default. They are read from a pod's spec, which may be in a Pod or in
 * the template of a Deployment. Pure.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#define PROGRAM_CONTROLLER "plimsoll-controller"
#define PROGRAM_EXTENDER "plimsoll-extender"

/* Flags of both programs. The value of a flag that a program does not have means nothing. */
enum program_flag {
        FLAG_LEADER_ELECT,
        FLAG_EVENTS,
        FLAG_LEASE_NAME,
        FLAG_LEASE_NAMESPACE,
        FLAG_METRICS_SOURCE,
        FLAG_NODE_ADDRESS_TYPES,
        FLAG_NODE_SELECTOR,
        FLAG_NODE_EXPORTER_PORT,
        FLAG_TARGET_TEMPLATE,
        FLAG_NODE_METRICS_TEMPLATE,
        FLAG_EXPORTERS, /* a list, separated by newlines or spaces */
        FLAG_PROMETHEUS_ADDRESS,
        FLAG_MASTER,
        FLAG_KUBELET_INSECURE,
        FLAG_KUBELET_CERTIFICATE,
        FLAG_ANNOTATION_PREFIX,
        FLAG_ANNOTATION_TIMEZONE,
        FLAG_ANNOTATION_UNIT,
        FLAG_HEALTH_PORT,
        FLAG_PORT,
        FLAG_TLS_CERT_FILE,
        FLAG_CLIENT_CA_FILE,
        FLAG_POLICY_PATH,
        FLAG_BIND,
        PROGRAM_FLAG_COUNT,
};

/* Zero-initialised: the flags of no program. */
struct program_flags {
        /* Owned. NULL: not set, and without a default; see program_flags_is_hidden() */
        char *texts[PROGRAM_FLAG_COUNT];
};

/**
 * program_flags_container() - the container that runs @program. It is recognised by its command, or
 * else by its image, or else by its flags, variables and name; if none is, it is the first
 * Return: borrowed; NULL: there are no containers
 */
const json_t *program_flags_container(const json_t *spec, const char *program);

/**
 * program_flags_read() - resolve all flags
 * @spec:        the pod's; if it is no object, all flags have their defaults
 * @namespace:   the pod's, for variables that refer to it
 * @config_maps: a list, for variables from ConfigMaps; NULL: not known
 * @ret:         released with program_flags_done()
 */
void program_flags_read(const json_t *spec, const char *program, const char *namespace,
                        const json_t *config_maps, struct program_flags *ret);
/** program_flags_hide() - the flags of a program whose spec cannot be read */
void program_flags_hide(struct program_flags *ret);
void program_flags_done(struct program_flags *flags);

/** program_flags_name() - the name of a flag, without dashes */
const char *program_flags_name(enum program_flag flag);
/** program_flags_text() - the value of a flag; NULL: not set, or hidden */
const char *program_flags_text(const struct program_flags *flags, enum program_flag flag);
/** program_flags_is_hidden() - the value is in a Secret, or elsewhere where it cannot be read */
bool program_flags_is_hidden(const struct program_flags *flags, enum program_flag flag);
/** program_flags_is_on() - for a flag that is true or false; false if hidden or malformed */
bool program_flags_is_on(const struct program_flags *flags, enum program_flag flag);
/** program_flags_int() - the value as a number; @fallback if it is not set, hidden or no integer */
long long program_flags_int(const struct program_flags *flags, enum program_flag flag,
                            long long fallback);
/** program_flags_has_word() - whether @word is in a comma-separated list */
bool program_flags_has_word(const struct program_flags *flags, enum program_flag flag,
                            const char *word);
