//go:build !notemporal

package adapters

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/iancoleman/strcase"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/jmoiron/sqlx"
	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/log/tag"
	"go.temporal.io/server/common/metrics"
	"go.temporal.io/server/common/persistence/sql/sqlplugin/postgresql"
	v12 "go.temporal.io/server/schema/postgresql/v12"
	"go.temporal.io/server/schema/sqlite"
	"go.temporal.io/server/temporal"
	"go.temporal.io/server/tools/common/schema"
	sqltool "go.temporal.io/server/tools/sql"

	"pulley/bench/peers/peer"
)

const (
	temporalHost    = "127.0.0.1"
	temporalCluster = "active"
)

// temporalSchemas are the schemas in the server's module, for each of the two databases.
var temporalSchemas = []struct{ path, version string }{
	{"postgresql/v12/temporal", v12.Version},
	{"postgresql/v12/visibility", v12.VisibilityVersion},
}

// setupTemporal creates the schemas and the namespace with the server's own tools.
func setupTemporal(_ context.Context, env peer.Env) error {
	for i, s := range temporalSchemas {
		cfg, err := temporalStore(env.DSNs[i], 1)
		if err != nil {
			return err
		}
		if err := setupTemporalSchema(cfg, s.path, s.version); err != nil {
			return fmt.Errorf("setting up Temporal's schema %s: %w", s.path, err)
		}
	}
	cfg, err := temporalStore(env.DSNs[0], 1)
	if err != nil {
		return err
	}
	namespace, err := sqlite.NewNamespaceConfig(temporalCluster, temporalNamespace, false, nil)
	if err != nil {
		return err
	}
	return sqlite.CreateNamespaces(cfg, namespace) // for any store in cfg
}

func setupTemporalSchema(cfg *config.SQL, path, version string) error {
	conn, err := sqltool.NewConnection(cfg, log.NewNoopLogger())
	if err != nil {
		return err
	}
	defer conn.Close()
	return schema.NewSetupSchemaTask(conn, &schema.SetupConfig{SchemaName: path, InitialVersion: version}, log.NewNoopLogger()).Run()
}

// temporalStore configures a database. The server itself connects only over TCP, so it is given the connections.
func temporalStore(dsn string, connections int) (*config.SQL, error) {
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	return &config.SQL{
		PluginName: postgresql.PluginNamePGX, DatabaseName: cfg.Database, ConnectAddr: "given", ConnectProtocol: "tcp", User: cfg.User,
		Connect: func(*config.SQL) (*sqlx.DB, error) {
			db := sqlx.NewDb(stdlib.OpenDB(*cfg), "pgx")
			db.SetMaxOpenConns(connections)
			db.SetMaxIdleConns(connections)
			db.SetConnMaxLifetime(time.Hour)
			db.MapperFunc(strcase.ToSnake)
			return db, nil
		},
	}, nil
}

// temporalConfig equals the server's development configuration for Postgres, with free ports.
func temporalConfig(env peer.Env) (*config.Config, error) {
	state, err := temporalStore(env.DSNs[0], env.Options.Int("connections"))
	if err != nil {
		return nil, err
	}
	visibility, err := temporalStore(env.DSNs[1], max(2, env.Options.Int("connections")/4))
	if err != nil {
		return nil, err
	}
	ports, err := freePorts(2 * len(temporal.DefaultServices))
	if err != nil {
		return nil, err
	}
	cfg := &config.Config{
		Persistence: config.Persistence{
			DefaultStore: "state", VisibilityStore: "visibility", NumHistoryShards: int32(env.Options.Int("shards")),
			DataStores: map[string]config.DataStore{"state": {SQL: state}, "visibility": {SQL: visibility}},
		},
		Services: map[string]config.Service{},
		ClusterMetadata: &cluster.Config{
			FailoverVersionIncrement: 10, MasterClusterName: temporalCluster, CurrentClusterName: temporalCluster,
			ClusterInformation: map[string]cluster.ClusterInformation{temporalCluster: {
				Enabled: true, InitialFailoverVersion: 1, RPCAddress: fmt.Sprintf("%s:%d", temporalHost, ports[0]),
			}},
		},
		DCRedirectionPolicy: config.DCRedirectionPolicy{Policy: "noop"},
		Archival: config.Archival{
			History: config.HistoryArchival{State: "disabled"}, Visibility: config.VisibilityArchival{State: "disabled"},
		},
		NamespaceDefaults: config.NamespaceDefaults{Archival: config.ArchivalNamespaceDefaults{
			History: config.HistoryArchivalNamespaceDefaults{State: "disabled"}, Visibility: config.VisibilityArchivalNamespaceDefaults{State: "disabled"},
		}},
		PublicClient: config.PublicClient{HostPort: fmt.Sprintf("%s:%d", temporalHost, ports[0])},
	}
	cfg.Global.Membership = config.Membership{MaxJoinDuration: 30 * time.Second, BroadcastAddress: temporalHost}
	for i, name := range temporal.DefaultServices { // the frontend is first
		cfg.Services[name] = config.Service{RPC: config.RPC{GRPCPort: ports[2*i], MembershipPort: ports[2*i+1], BindOnLocalHost: true}}
	}
	return cfg, nil
}

// The range of ports. The server's Postgres schema stores ports as smallint, so ephemeral ports are too large.
const (
	portLeast = 15_000
	portMost  = 32_000
)

var portNext atomic.Int64 // offsets from portLeast, so that successive servers get different ports

func freePorts(count int) ([]int, error) {
	var out []int
	for range portMost - portLeast {
		port := portLeast + int(int64(os.Getpid())*31+portNext.Add(1))%(portMost-portLeast)
		l, err := net.Listen("tcp", net.JoinHostPort(temporalHost, strconv.Itoa(port)))
		if err != nil {
			continue
		}
		defer l.Close()
		if out = append(out, port); len(out) == count {
			return out, nil
		}
	}
	return nil, fmt.Errorf("there are no %d free ports on %s from %d to %d", count, temporalHost, portLeast, portMost)
}

// temporalRate is a rate limit that is never reached.
const temporalRate = 1_000_000

// newTemporalServer makes the server. Its default limits, for shared clusters, would otherwise determine the result.
func newTemporalServer(cfg *config.Config, env peer.Env) (temporal.Server, error) {
	settings := dynamicconfig.StaticClient{
		dynamicconfig.MatchingNumTaskqueueReadPartitions.Key():  env.Options.Int("partitions"),
		dynamicconfig.MatchingNumTaskqueueWritePartitions.Key(): env.Options.Int("partitions"),
		dynamicconfig.EnableActivityEagerExecution.Key():        true,
		dynamicconfig.EnableEagerWorkflowStart.Key():            true,

		dynamicconfig.FrontendMaxConcurrentLongRunningRequestsPerInstance.Key(): temporalRate,
	}
	for _, limit := range []interface{ Key() dynamicconfig.Key }{
		dynamicconfig.FrontendRPS, dynamicconfig.FrontendMaxNamespaceRPSPerInstance, dynamicconfig.FrontendPersistenceMaxQPS,
		dynamicconfig.HistoryRPS, dynamicconfig.HistoryPersistenceMaxQPS, dynamicconfig.MatchingRPS, dynamicconfig.MatchingPersistenceMaxQPS,
	} {
		settings[limit.Key()] = temporalRate
	}
	return temporal.NewServer(
		temporal.WithConfig(cfg),
		temporal.ForServices(temporal.DefaultServices),
		temporal.WithLogger(temporalLog{log: env.Log}),
		temporal.WithAuthorizer(authorization.NewNoopAuthorizer()),
		temporal.WithClaimMapper(func(*config.Config) authorization.ClaimMapper { return authorization.NewNoopClaimMapper() }),
		temporal.WithDynamicConfigClient(settings),
		temporal.WithCustomMetricsHandler(metrics.NoopMetricsHandler),
	)
}

// temporalLog passes on fatal messages. Errors are frequent while services start and stop, and relevant ones show in the runs.
type temporalLog struct{ log func(string) }

func (l temporalLog) tell(msg string, tags []tag.Tag) {
	for _, t := range tags {
		if t.Key() == "error" {
			msg += fmt.Sprintf(": %v", t.Value())
		}
	}
	l.log("server: " + strings.Join(strings.Fields(msg), " "))
}

func (temporalLog) Debug(string, ...tag.Tag) {}

func (temporalLog) Info(string, ...tag.Tag) {}

func (temporalLog) Warn(string, ...tag.Tag) {}

func (temporalLog) Error(string, ...tag.Tag) {}

func (l temporalLog) DPanic(msg string, tags ...tag.Tag) { l.tell(msg, tags) }

func (l temporalLog) Panic(msg string, tags ...tag.Tag) {
	l.tell(msg, tags)
	panic(msg)
}

// Fatal implements log.Logger. The race continues: it notices what does not end.
func (l temporalLog) Fatal(msg string, tags ...tag.Tag) { l.tell(msg, tags) }
