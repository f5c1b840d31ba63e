/** The classes of Keep a Changelog, in their order. Each is a folder of `changelog/`. */
export const changeClasses = ['added', 'changed', 'deprecated', 'removed', 'fixed', 'security'] as const
type ChangeClass = (typeof changeClasses)[number]

/** A file of `changelog/<class>/`: one or more list items for users. */
export interface Fragment {
  readonly kind: ChangeClass
  readonly name: string
  readonly text: string
}

/** Returns what is wrong with a fragment: each of its lines begins an item (`- `) or continues one (two spaces). */
export const fragmentProblems = ({ kind, name, text }: Fragment): readonly string[] => {
  const lines = text.trimEnd().split('\n')
  const wrong = lines.findIndex((line, index) => !(line.startsWith('- ') || (index > 0 && /^ {2}\S/.test(line))))
  return wrong < 0 ? [] : [`changelog/${kind}/${name}: line ${wrong + 1} neither begins an item nor continues one`]
}

const title = (kind: ChangeClass): string => `${kind.charAt(0).toUpperCase()}${kind.slice(1)}`

/** Returns the section of a release: its fragments by class, each class in the order of their names. */
export const releaseSection = (version: string, fragments: readonly Fragment[]): string => {
  const classes = changeClasses.flatMap((kind) => {
    const own = fragments.filter((each) => each.kind === kind).sort((a, b) => (a.name < b.name ? -1 : 1))
    return own.length === 0 ? [] : [`### ${title(kind)}\n\n${own.map(({ text }) => `${text.trimEnd()}\n`).join('')}`]
  })
  return `## ${version}\n\n${classes.join('\n')}`
}

/** Returns the changelog with a section before that of the last release. */
export const withSection = (changelog: string, section: string): string => {
  const at = changelog.search(/^## v/m)
  return at < 0 ? `${changelog.trimEnd()}\n\n${section}` : `${changelog.slice(0, at)}${section}\n${changelog.slice(at)}`
}
