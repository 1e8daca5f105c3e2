#include "policy/usage/pod_usage_list.h"

#include <stdio.h>

#include "policy/usage/usage_load.h"

static const double MIB = 1024 * 1024;

bool pod_usage_uid(const char *uid, size_t len, uint32_t *ret) {
        uint32_t value = 0;

        if (len < POD_USAGE_UID_DIGITS)
                return false;
        for (size_t i = 0; i < POD_USAGE_UID_DIGITS; i++) {
                static const char digits[] = "0123456789abcdef";
                const char *digit = memchr(digits, uid[i], sizeof(digits) - 1);
                if (!digit)
                        return false;
                value = value << 4 | (uint32_t)(digit - digits);
        }
        *ret = value;
        return true;
}

static int parse_entry(const char *text, size_t len, struct pod_usage *ret, struct error *err) {
        if (len <= POD_USAGE_UID_DIGITS || text[POD_USAGE_UID_DIGITS] != '=' ||
            !pod_usage_uid(text, len, &ret->uid))
                return error_set(err, EINVAL, "\"%.*s\" is not <uid>=<cores>/<MiB>", (int)len,
                                 text);
        return usage_load_parse(text + POD_USAGE_UID_DIGITS + 1, len - POD_USAGE_UID_DIGITS - 1,
                                MIB, &ret->load, err);
}

int pod_usage_list_parse(const char *text, size_t len, struct pod_usage_list *ret,
                         struct error *err) {
        struct pod_usage_list list = {0};
        const char *end = text + len;

        if (len >= POD_USAGE_TEXT_MAX)
                return error_set(err, EINVAL, "longer than %d bytes", POD_USAGE_TEXT_MAX - 1);
        while (len > 0) {
                const char *comma = memchr(text, ',', (size_t)(end - text));
                if (list.count == POD_USAGE_MAX)
                        return error_set(err, EINVAL, "more than %d entries", POD_USAGE_MAX);
                int r = parse_entry(text, (size_t)((comma ? comma : end) - text),
                                    &list.pods[list.count++], err);
                if (r < 0)
                        return r;
                if (!comma)
                        break;
                text = comma + 1;
        }
        *ret = list;
        return 0;
}

void pod_usage_list_format(const struct pod_usage_list *list,
                           char text[static POD_USAGE_TEXT_MAX]) {
        size_t len = 0;

        text[0] = '\0';
        for (size_t i = 0; i < list->count; i++)
                len += (size_t)snprintf(text + len, POD_USAGE_TEXT_MAX - len, "%s%08x=%.3g/%.3g",
                                        i > 0 ? "," : "", list->pods[i].uid,
                                        list->pods[i].load.of[ESTIMATE_CPU],
                                        list->pods[i].load.of[ESTIMATE_MEM] / MIB);
}
