/*
 * The flags of one of our programs that runs in a pod: from its command line, else from its
 * environment, else the default. Pure: it reads a pod's spec, of a Pod or of a Deployment's
 * template.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#define PROGRAM_CONTROLLER "plimsoll-controller"
#define PROGRAM_EXTENDER "plimsoll-extender"

/* Flags of both programs. Of a flag that a program does not have, the value means nothing. */
enum program_flag {
        FLAG_LEADER_ELECT,
        FLAG_LEASE_NAME,
        FLAG_LEASE_NAMESPACE,
        FLAG_METRICS_SOURCE,
        FLAG_NODE_ADDRESS_TYPES,
        FLAG_NODE_EXPORTER_PORT,
        FLAG_TARGET_TEMPLATE,
        FLAG_NODE_METRICS_TEMPLATE,
        FLAG_EXPORTERS, /* a list, by newlines or spaces */
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
        PROGRAM_FLAG_COUNT,
};

/* Zero-initialised: of no program. */
struct program_flags {
        /* Owned. NULL: neither set nor has a default; see program_flags_is_hidden() */
        char *texts[PROGRAM_FLAG_COUNT];
};

/**
 * program_flags_container() - the container that runs @program, wherever it stands: by its command,
 * else its image, else its flags, variables and name; else the first
 * Return: borrowed; NULL: there is none
 */
const json_t *program_flags_container(const json_t *spec, const char *program);

/**
 * program_flags_read() - resolve all flags
 * @spec:        of the pod; anything but an object: all defaults
 * @namespace:  the pod's, for variables that hold it
 * @config_maps: a list, for variables from ConfigMaps; NULL: not known
 * @ret:         released with program_flags_done()
 */
void program_flags_read(const json_t *spec, const char *program, const char *namespace,
                        const json_t *config_maps, struct program_flags *ret);
void program_flags_done(struct program_flags *flags);

/** program_flags_name() - without the dashes */
const char *program_flags_name(enum program_flag flag);
/** program_flags_text() - NULL: not set, or hidden */
const char *program_flags_text(const struct program_flags *flags, enum program_flag flag);
/** program_flags_is_hidden() - the value stands in a Secret, or where else it cannot be read */
bool program_flags_is_hidden(const struct program_flags *flags, enum program_flag flag);
/** program_flags_is_on() - of a flag that is true or false; what is hidden or malformed is false */
bool program_flags_is_on(const struct program_flags *flags, enum program_flag flag);
/** program_flags_int() - @fallback for what is unset, hidden or no integer */
long long program_flags_int(const struct program_flags *flags, enum program_flag flag,
                            long long fallback);
/** program_flags_has_word() - whether @word is in a list with commas */
bool program_flags_has_word(const struct program_flags *flags, enum program_flag flag,
                            const char *word);
