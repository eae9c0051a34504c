package stored

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"text/template"

	"github.com/jackc/pgx/v5"

	"pulley/cmd/pulley/console"
)

// SchemaCmd is a group of commands.
type SchemaCmd struct {
	Migrate schemaMigrateCmd `cmd:"" help:"Make a schema, or bring it to this version, as its owner."`
	Grants  schemaGrantsCmd  `cmd:"" help:"Print the SQL that makes a role which may use a schema, and nothing else."`
}

// Help explains the commands.
func (SchemaCmd) Help() string {
	return "By default whatever opens a schema makes it, and brings it to its own version, for which it needs the rights of an owner. An engine needs less: " +
		"let one role own the schema and run pulley schema migrate with each new version, and let engines and operators connect as roles of pulley schema grants."
}

type schemaMigrateCmd struct {
	console.StoreFlags
	console.TimeoutFlag `set:"wait=10m" set:"answer=the database"`
	console.FormatFlag
}

// migrated is a schema at the version of this program.
type migrated struct {
	Schema  string `json:"schema"`
	Backend string `json:"backend"`
}

// Help completes the command's help.
func (schemaMigrateCmd) Help() string {
	return "It runs the migrations that the schema has not seen, all in one transaction, which a lock in the database serializes. A schema of a later version is refused, and left as it is.\n\n" +
		`With --format json it prints {"schema":"NAME","backend":"NAME"}.` + "\n\n" +
		"Exit status: 0, or 2 if the schema is not at this version afterwards.\n\nExample: pulley schema migrate --backend push --dsn postgres://owner@localhost/work"
}

// Run makes or upgrades a schema.
func (r *schemaMigrateCmd) Run(c *console.Console) error {
	p, err := placeOf(&r.StoreFlags)
	switch {
	case err != nil:
		return err
	case r.Timeout <= 0:
		return ErrTimeout(r.Timeout)
	}
	ctx, stop := console.Interruptible()
	defer stop()
	bounded, done := context.WithTimeoutCause(ctx, r.Timeout, ErrSlow)
	defer done()
	_, closing, err := openStored(bounded, &r.StoreFlags, p.spec, p.schema, "pulley schema", true)
	if err != nil {
		return console.Ended(ctx, err)
	}
	closing()
	return c.PrintAs(r.FormatFlag, migrated{p.schema, p.spec.String()}, fmt.Sprintf("schema %s is at the version of this pulley, for backend %s\n", p.schema, p.spec))
}

type schemaGrantsCmd struct {
	Role     string `arg:"" help:"The role's name. It is made if there is none, and cannot log in: grant it to users that can."`
	ReadOnly bool   `help:"A role for operators and replicas, which only looks: pulley ps, show, why, wait and schedule list."`
	console.BackendFlag
	Schema string `placeholder:"NAME" help:"The schema. Default: pulley_ and the backend's name."`
}

// Help completes the command's help.
func (schemaGrantsCmd) Help() string {
	return "It connects to nothing. Run what it prints as the schema's owner, or as a superuser, after pulley schema migrate; the tables of later migrations by the same role are included.\n\n" +
		"The role may read and write the rows of the schema's tables. It can neither change or drop a table, nor make anything in the schema.\n\n" +
		"Example: pulley schema grants pulley_work --backend journal | psql --dbname work"
}

//go:embed grants.sql.tmpl
var grantsText string

var grantsTemplate = template.Must(template.New("grants").Parse(grantsText))

// Run prints the SQL.
func (r *schemaGrantsCmd) Run(c *console.Console) error {
	p, err := placeOf(&console.StoreFlags{BackendFlag: r.BackendFlag, Schema: r.Schema})
	switch {
	case err != nil:
		return err
	case r.Role == "" || len(r.Role) > SchemaMax || strings.ContainsRune(r.Role, 0):
		return fmt.Errorf("the role %q is no name of Postgres; choose one of 1 to %d bytes", r.Role, SchemaMax)
	}
	var text strings.Builder
	tag := unusedTag(r.Role)
	err = grantsTemplate.Execute(&text, map[string]any{
		"Role": pgx.Identifier{r.Role}.Sanitize(), "Schema": pgx.Identifier{p.schema}.Sanitize(), "ReadOnly": r.ReadOnly, "Outer": tag + "_outer", "Inner": tag + "_inner",
	})
	if err != nil {
		return err
	}
	return c.Print(text.String())
}

// unusedTag begins tags of quotations that do not occur in the text, whatever somebody calls a role.
func unusedTag(text string) string {
	tag := "pulley"
	for strings.Contains(text, tag) {
		tag += "_"
	}
	return tag
}
