#include "extender/table/node_zones.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "codec/json.h"
#include "policy/policy.h"

/* Labels cannot contain this character, so the names of zones stay unique. */
#define AVOIDED "~"

enum { NAME_BYTES = NODE_ZONE_NAME_MAX + sizeof(AVOIDED) };

void node_zones_done(struct node_zones *zones) {
        for (size_t i = 0; i < NODE_ZONES_MAX; i++)
                free(zones->of[i].name);
        *zones = (struct node_zones){0};
}

static bool is_avoided(const json_t *taints) {
        const json_t *taint;
        size_t i;

        json_array_foreach (taints, i, taint) {
                const char *key = json_string_at(taint, "key", NULL);
                bool is_load = key &&
                               strncmp(key, POLICY_TAINT_PREFIX, strlen(POLICY_TAINT_PREFIX)) == 0;
                if (json_is_at("PreferNoSchedule", taint, "effect", NULL) && !is_load)
                        return true;
        }
        return false;
}

/* Return: false if the node has no zone, or one with an invalid name */
static bool name_of(const json_t *labels, const json_t *taints, char ret[static NAME_BYTES]) {
        const char *zone = json_string_at(labels, "topology.kubernetes.io/zone", NULL);

        if (!zone || strlen(zone) > NODE_ZONE_NAME_MAX)
                zone = "";
        (void)snprintf(ret, NAME_BYTES, "%s%s", zone, is_avoided(taints) ? AVOIDED : "");
        return ret[0] != '\0';
}

static uint8_t enter(struct node_zones *zones, const char *name) {
        size_t number = NODE_ZONE_NONE;

        for (size_t i = NODE_ZONES_MAX; i-- > NODE_ZONE_NONE + 1;) {
                const char *known = zones->of[i].name;
                if (!known)
                        number = i;
                else if (strcmp(known, name) == 0) {
                        zones->of[i].nodes++;
                        return (uint8_t)i;
                }
        }
        if (number != NODE_ZONE_NONE)
                zones->of[number] = (struct node_zone){.name = xstrdup(name), .nodes = 1};
        return (uint8_t)number;
}

static void leave(struct node_zones *zones, uint8_t number) {
        struct node_zone *zone = &zones->of[number];

        if (number == NODE_ZONE_NONE || --zone->nodes > 0)
                return;
        free(zone->name);
        *zone = (struct node_zone){0};
}

uint8_t node_zones_move(struct node_zones *zones, uint8_t from, const json_t *labels,
                        const json_t *taints) {
        char name[NAME_BYTES];
        bool has_zone = name_of(labels, taints, name);

        if (has_zone && from != NODE_ZONE_NONE && strcmp(zones->of[from].name, name) == 0)
                return from;
        leave(zones, from);
        return has_zone ? enter(zones, name) : NODE_ZONE_NONE;
}
