// The peer of bench extender_peer: an extender as one would write it in Go, with net/http and
// encoding/json. It is kinder to Go than real extenders are: minimal types instead of corev1 (a
// Node is a RawMessage beside its name), and annotations parsed once at the start.
//
// Usage: go-extender NODES.json, where the file is a NodeList. Prints its port.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

type meta struct {
	Name            string            `json:"name"`
	Namespace       string            `json:"namespace"`
	Annotations     map[string]string `json:"annotations"`
	OwnerReferences []struct {
		Kind string `json:"kind"`
	} `json:"ownerReferences"`
}

type node struct {
	Metadata meta `json:"metadata"`
	raw      json.RawMessage
}

func (n *node) UnmarshalJSON(data []byte) error {
	var head struct {
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
	}
	n.raw = append(n.raw[:0], data...)
	err := json.Unmarshal(data, &head)
	n.Metadata.Name = head.Metadata.Name
	return err
}

func (n *node) MarshalJSON() ([]byte, error) { return n.raw, nil }

type nodeList struct {
	Items []*node `json:"items"`
}

type args struct {
	Pod struct {
		Metadata meta `json:"metadata"`
	}
	Nodes     *nodeList
	NodeNames *[]string
}

type filterResult struct {
	Nodes                      *nodeList
	NodeNames                  *[]string
	FailedNodes                map[string]string
	FailedAndUnresolvableNodes map[string]string
	Error                      string
}

type hostPriority struct {
	Host  string
	Score int64
}

type reading struct {
	usage   float64
	expires time.Time
}

type metric struct {
	name          string
	period        time.Duration
	limit, weight float64
}

// policy/crane.yaml.
var metrics = []metric{
	{"cpu_usage_avg_5m", 3 * time.Minute, 0.65, 0.2},
	{"cpu_usage_max_avg_1h", 15 * time.Minute, 0.75, 0.3},
	{"cpu_usage_max_avg_1d", 3 * time.Hour, 0, 0.5},
	{"mem_usage_avg_5m", 3 * time.Minute, 0.65, 0.2},
	{"mem_usage_max_avg_1h", 15 * time.Minute, 0.75, 0.3},
	{"mem_usage_max_avg_1d", 3 * time.Hour, 0, 0.5},
}

var table = map[string][]reading{}

func load(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var list struct {
		Items []struct {
			Metadata meta `json:"metadata"`
		} `json:"items"`
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return err
	}
	for _, item := range list.Items {
		row := make([]reading, len(metrics))
		for i, m := range metrics {
			value, stamp, _ := strings.Cut(item.Metadata.Annotations[m.name], ",")
			row[i].usage, _ = strconv.ParseFloat(value, 64)
			at, _ := time.Parse(time.RFC3339, stamp)
			row[i].expires = at.Add(m.period + 5*time.Minute)
		}
		table[item.Metadata.Name] = row
	}
	return nil
}

func rejects(name string, now time.Time) string {
	for i, r := range table[name] {
		if metrics[i].limit > 0 && now.Before(r.expires) && r.usage > metrics[i].limit {
			return metrics[i].name + " is too high"
		}
	}
	return ""
}

func score(name string, now time.Time) int64 {
	sum, weights := 0.0, 0.0
	for i, r := range table[name] {
		weights += metrics[i].weight
		if now.Before(r.expires) {
			sum += (1 - r.usage) * metrics[i].weight * 100
		}
	}
	if weights == 0 {
		return 0
	}
	return int64(sum/weights+5) / 10
}

func read(r *http.Request) (*args, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	a := new(args)
	return a, json.Unmarshal(body, a)
}

func reply(w http.ResponseWriter, value interface{}) {
	data, err := json.Marshal(value)
	if err != nil {
		http.Error(w, "", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	_, _ = w.Write(data)
}

func filter(w http.ResponseWriter, r *http.Request) {
	a, err := read(r)
	if err != nil {
		http.Error(w, "", http.StatusBadRequest)
		return
	}
	result := filterResult{
		FailedNodes:                map[string]string{},
		FailedAndUnresolvableNodes: map[string]string{},
	}
	now := time.Now()
	if a.NodeNames != nil {
		passing := make([]string, 0, len(*a.NodeNames))
		for _, name := range *a.NodeNames {
			if why := rejects(name, now); why != "" {
				result.FailedAndUnresolvableNodes[name] = why
			} else {
				passing = append(passing, name)
			}
		}
		result.NodeNames = &passing
	} else if a.Nodes != nil {
		result.Nodes = &nodeList{Items: []*node{}}
		for _, n := range a.Nodes.Items {
			if why := rejects(n.Metadata.Name, now); why != "" {
				result.FailedAndUnresolvableNodes[n.Metadata.Name] = why
			} else {
				result.Nodes.Items = append(result.Nodes.Items, n)
			}
		}
	}
	reply(w, &result)
}

func prioritize(w http.ResponseWriter, r *http.Request) {
	a, err := read(r)
	if err != nil {
		http.Error(w, "", http.StatusBadRequest)
		return
	}
	now := time.Now()
	scores := []hostPriority{}
	if a.NodeNames != nil {
		for _, name := range *a.NodeNames {
			scores = append(scores, hostPriority{name, score(name, now)})
		}
	} else if a.Nodes != nil {
		for _, n := range a.Nodes.Items {
			scores = append(scores, hostPriority{n.Metadata.Name, score(n.Metadata.Name, now)})
		}
	}
	reply(w, scores)
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go-extender NODES.json")
		os.Exit(2)
	}
	if err := load(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("port=%d\n", listener.Addr().(*net.TCPAddr).Port)
	http.HandleFunc("/filter", filter)
	http.HandleFunc("/prioritize", prioritize)
	fmt.Fprintln(os.Stderr, http.Serve(listener, nil))
	os.Exit(1)
}
