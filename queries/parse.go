package queries

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var (
	fieldGap   = regexp.MustCompile(`\s{2,}`)
	queryName  = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)
	identifier = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	// reference is a server parameter in a statement, {name:Type}.
	reference = regexp.MustCompile(`\{([a-z][a-z0-9_]*):([A-Za-z0-9]+)\}`)
)

// parse reads one file in the format that the package comment describes.
func parse(name, text string) (Query, error) {
	q := Query{Name: name, SQL: text}
	if !queryName.MatchString(name) {
		return q, errors.New("the name of the file must be lower-case words joined by hyphens")
	}
	head, statement := splitHead(text)
	if len(head) == 0 {
		return q, errors.New("the file must start with its head comment")
	}
	q.Title = head[0]
	if err := q.readHead(head[1:]); err != nil {
		return q, err
	}
	if !slices.Contains(Sections, q.Section) {
		return q, fmt.Errorf("section %q is not in Sections", q.Section)
	}
	if len(q.Columns) == 0 {
		return q, errors.New("the head comment has no Columns")
	}
	return q, q.checkStatement(statement)
}

// splitHead returns the lines of the leading comment without their dashes, and the text after the
// comment.
func splitHead(text string) (head []string, statement string) {
	for strings.HasPrefix(text, "--") {
		line, rest, _ := strings.Cut(text, "\n")
		head = append(head, strings.TrimRight(strings.TrimPrefix(strings.TrimPrefix(line, "--"), " "), " "))
		text = rest
	}
	return head, strings.TrimSpace(text)
}

func (q *Query) readHead(lines []string) error {
	block := ""
	var about []string
	for _, line := range lines {
		section, isSection := strings.CutPrefix(line, "Section: ")
		first, isFirst := strings.CutPrefix(line, "First: ")
		switch {
		case isFirst:
			q.First = strings.Split(first, ", ")
		case isSection:
			q.Section = section
		case line == "Parameters:", line == "Columns:":
			block = line
		case line == "":
		case !strings.HasPrefix(line, " "):
			if block != "" {
				return fmt.Errorf("%q: put sentences before the parameters", line)
			}
			about = append(about, line)
		case strings.HasPrefix(line, "    ") && block == "Parameters:" && len(q.Parameters) > 0:
			p := &q.Parameters[len(q.Parameters)-1]
			p.About += " " + strings.TrimSpace(line)
		case strings.HasPrefix(line, "    ") && len(q.Columns) > 0:
			c := &q.Columns[len(q.Columns)-1]
			c.About += " " + strings.TrimSpace(line)
		case block == "Parameters:":
			p, err := parseParameter(strings.TrimSpace(line))
			if err != nil {
				return err
			}
			q.Parameters = append(q.Parameters, p)
		case block == "Columns:":
			fields := fieldGap.Split(strings.TrimSpace(line), 3)
			if len(fields) != 3 || !identifier.MatchString(fields[0]) {
				return fmt.Errorf("column %q: want name, unit and meaning", line)
			}
			q.Columns = append(q.Columns, Column{fields[0], fields[1], fields[2]})
		default:
			return fmt.Errorf("%q is indented and follows no parameter or column", line)
		}
	}
	q.About = strings.Join(about, " ")
	for _, name := range q.First {
		if !slices.ContainsFunc(q.Columns, func(c Column) bool { return c.Name == name }) {
			return fmt.Errorf("first column %q is no column of the query", name)
		}
	}
	return nil
}

// checkStatement compares the parameters of the head comment with the parameters in the
// statement.
func (q *Query) checkStatement(statement string) error {
	if statement == "" {
		return errors.New("the file has no statement")
	}
	if strings.Contains(strings.TrimSuffix(statement, ";"), ";") {
		return errors.New("the file has more than one statement")
	}
	used := make(map[string]string)
	for _, m := range reference.FindAllStringSubmatch(statement, -1) {
		used[m[1]] = m[2]
	}
	for _, p := range q.Parameters {
		if used[p.Name] != p.Type {
			return fmt.Errorf("parameter %s is documented as %s and used as %q", p.Name, p.Type, used[p.Name])
		}
		delete(used, p.Name)
	}
	for name := range used {
		return fmt.Errorf("parameter %s is not documented", name)
	}
	return nil
}
