#include "controller/track/stale_annotations.h"

#include <string.h>

#include "base/clock.h"
#include "policy/annotation.h"

static bool is_stale(const char *key, const char *value, const struct policy *policy,
                     const struct zone *zone, int64_t now_unix_ms) {
        struct annotation annotation;

        if (annotation_parse(value, strlen(value), zone, &annotation, NULL) < 0 ||
            now_unix_ms - annotation.at_unix_ms <= MS_PER_DAY)
                return false;
        if (strcmp(key, ANNOTATION_HOT_VALUE) == 0)
                return policy->hot_value_count == 0;
        return policy_lacks_metric(policy, key);
}

void stale_annotations_append(const struct kept_texts *kept, const struct policy *policy,
                              const struct plan_style *style, int64_t now_unix_ms,
                              struct buf *out) {
        const char *value;
        size_t count = 0;

        for (const char *key = kept_texts_next(kept, NULL, &value);
             key && count < STALE_ANNOTATIONS_MAX; key = kept_texts_next(kept, key, &value)) {
                if (!is_stale(key, value, policy, style->zone, now_unix_ms))
                        continue;
                plan_write_annotation(style, key, "", NULL, out);
                count++;
        }
}
