package pairs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Repository is a git repository, seen from a directory in it.
type Repository struct {
	// Root is the top of the tree, Below that directory relative to Root.
	Root, Below string
}

// FindRepository finds the repository of dir.
func FindRepository(ctx context.Context, dir string) (*Repository, error) {
	out, err := Command{Dir: dir, Args: []string{"git", "rev-parse", "--show-toplevel", "--show-prefix"}}.Run(ctx)
	if err != nil {
		return nil, fmt.Errorf("revisions are of a git repository; run this in one: %w", err)
	}
	root, below, _ := strings.Cut(string(out), "\n")
	return &Repository{Root: strings.TrimSpace(root), Below: strings.TrimSpace(below)}, nil
}

// Resolve returns a revision's commit.
func (r *Repository) Resolve(ctx context.Context, revision string) (string, error) {
	if strings.HasPrefix(revision, "-") || strings.TrimSpace(revision) == "" {
		return "", fmt.Errorf("%q is not a revision; name a commit, a branch or a tag", revision)
	}
	out, err := Command{Dir: r.Root, Args: []string{"git", "rev-parse", "--verify", "--quiet", "--end-of-options", revision + "^{commit}"}}.Run(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return "", err
		}
		return "", fmt.Errorf("%q is not a revision of %s; name a commit, a branch or a tag", revision, r.Root)
	}
	return strings.TrimSpace(string(out)), nil
}

// Checkout is a revision in a separate directory.
type Checkout struct {
	// Dir corresponds to the directory from which the repository is seen.
	Dir    string
	Commit string

	repository *Repository
	root       string
}

// CheckOut checks a commit out into root, which must not exist. The caller removes it.
func (r *Repository) CheckOut(ctx context.Context, commit, root string) (*Checkout, error) {
	c := &Checkout{Dir: filepath.Join(root, r.Below), Commit: commit, repository: r, root: root}
	_, err := Command{Dir: r.Root, Args: []string{"git", "worktree", "add", "--detach", "--force", root, commit}}.Run(ctx)
	if err != nil {
		return nil, errors.Join(err, c.Remove())
	}
	return c, nil
}

// Root is the top of the checkout.
func (c *Checkout) Root() string { return c.root }

// Remove removes the directory and git's records of it, even after a context has ended.
func (c *Checkout) Remove() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	// Git leaves an incomplete worktree; prune forgets a removed one.
	_, _ = Command{Dir: c.repository.Root, Args: []string{"git", "worktree", "remove", "--force", "--force", c.root}}.Run(ctx)
	if err := os.RemoveAll(c.root); err != nil {
		return fmt.Errorf("removing %s: %w", c.root, err)
	}
	_, err := Command{Dir: c.repository.Root, Args: []string{"git", "worktree", "prune"}}.Run(ctx)
	return err
}
