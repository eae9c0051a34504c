package main

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"time"

	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/metrics"
	"go.temporal.io/server/temporal"
)

const (
	host = "127.0.0.1"

	// joinWithin bounds a try to join the ring. A try fails if all members that it knows have died; the server makes the next one
	// 10 s later.
	joinWithin = 5 * time.Second

	// rate is a limit that is never reached.
	rate = 1_000_000
)

// server is one with all four services.
type server struct {
	temporal.Server
	address string  // of its frontend
	members []int32 // the ports at which its services are members of rings
}

func newServer(dsn string, s settings, log *logger) (*server, error) {
	cfg, err := serverConfig(dsn, s)
	if err != nil {
		return nil, err
	}
	made := &server{address: cfg.PublicClient.HostPort}
	for _, service := range cfg.Services {
		made.members = append(made.members, int32(service.RPC.MembershipPort))
	}
	made.Server, err = temporal.NewServer(
		temporal.WithConfig(cfg),
		temporal.ForServices(temporal.DefaultServices),
		temporal.WithLogger(log),
		temporal.WithAuthorizer(authorization.NewNoopAuthorizer()),
		temporal.WithClaimMapper(func(*config.Config) authorization.ClaimMapper { return authorization.NewNoopClaimMapper() }),
		temporal.WithDynamicConfigClient(dynamicConfig(s)),
		temporal.WithCustomMetricsHandler(metrics.NoopMetricsHandler),
	)
	return made, err
}

// serverConfig is the server's configuration for development on Postgres, with free ports.
func serverConfig(dsn string, s settings) (*config.Config, error) {
	state, err := statePart.config(dsn, s.connections)
	if err != nil {
		return nil, err
	}
	visibility, err := visibilityPart.config(dsn, visibilityMost)
	if err != nil {
		return nil, err
	}
	ports, err := freePorts(2 * len(temporal.DefaultServices))
	if err != nil {
		return nil, err
	}
	frontend := net.JoinHostPort(host, strconv.Itoa(ports[0]))
	const disabled = "disabled"
	// The address at which other clusters would find this one is the same in each process: a server that starts writes another one
	// into the database, which fails if two do so at once.
	const clusterAddress = host + ":7233"
	cfg := &config.Config{
		Persistence: config.Persistence{
			DefaultStore: statePart.name, VisibilityStore: visibilityPart.name, NumHistoryShards: int32(s.shards),
			DataStores: map[string]config.DataStore{statePart.name: {SQL: state}, visibilityPart.name: {SQL: visibility}},
		},
		Services: map[string]config.Service{},
		ClusterMetadata: &cluster.Config{
			FailoverVersionIncrement: 10, MasterClusterName: clusterName, CurrentClusterName: clusterName,
			ClusterInformation: map[string]cluster.ClusterInformation{clusterName: {Enabled: true, InitialFailoverVersion: 1, RPCAddress: clusterAddress}},
		},
		DCRedirectionPolicy: config.DCRedirectionPolicy{Policy: "noop"},
		Archival:            config.Archival{History: config.HistoryArchival{State: disabled}, Visibility: config.VisibilityArchival{State: disabled}},
		NamespaceDefaults: config.NamespaceDefaults{Archival: config.ArchivalNamespaceDefaults{
			History: config.HistoryArchivalNamespaceDefaults{State: disabled}, Visibility: config.VisibilityArchivalNamespaceDefaults{State: disabled},
		}},
		PublicClient: config.PublicClient{HostPort: frontend},
	}
	cfg.Global.Membership = config.Membership{MaxJoinDuration: joinWithin, BroadcastAddress: host}
	for i, name := range temporal.DefaultServices { // the frontend is first
		cfg.Services[name] = config.Service{RPC: config.RPC{GRPCPort: ports[2*i], MembershipPort: ports[2*i+1], BindOnLocalHost: true}}
	}
	return cfg, nil
}

// dynamicConfig raises limits that are for clusters with many users, and would determine how much this one does.
func dynamicConfig(s settings) dynamicconfig.StaticClient {
	values := dynamicconfig.StaticClient{
		dynamicconfig.MatchingNumTaskqueueReadPartitions.Key():                  s.partitions,
		dynamicconfig.MatchingNumTaskqueueWritePartitions.Key():                 s.partitions,
		dynamicconfig.EnableActivityEagerExecution.Key():                        s.eager,
		dynamicconfig.EnableEagerWorkflowStart.Key():                            s.eager,
		dynamicconfig.FrontendMaxConcurrentLongRunningRequestsPerInstance.Key(): rate,
	}
	for _, limit := range []interface{ Key() dynamicconfig.Key }{
		dynamicconfig.FrontendRPS, dynamicconfig.FrontendMaxNamespaceRPSPerInstance, dynamicconfig.FrontendPersistenceMaxQPS,
		dynamicconfig.HistoryRPS, dynamicconfig.HistoryPersistenceMaxQPS, dynamicconfig.MatchingRPS, dynamicconfig.MatchingPersistenceMaxQPS,
	} {
		values[limit.Key()] = rate
	}
	return values
}

// The range of ports. The server's schema stores ports as smallint, so the ports that a system chooses by itself are too large.
const (
	portLeast = 15_000
	portMost  = 32_000
)

// freePorts returns ports that nobody listens on. Which come first is random, so that processes that start at once take others.
func freePorts(count int) ([]int, error) {
	var free []int
	first := rand.IntN(portMost - portLeast)
	for i := range portMost - portLeast {
		port := portLeast + (first+i)%(portMost-portLeast)
		l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
		if err != nil {
			continue
		}
		defer func() { _ = l.Close() }()
		if free = append(free, port); len(free) == count {
			return free, nil
		}
	}
	return nil, fmt.Errorf("there are no %d free ports on %s from %d to %d; end what listens there", count, host, portLeast, portMost)
}
