/** A statement whose shard is not one, or that does not plan, with the reason why it stays so. */
export interface Named {
  readonly place: string
  readonly form: string
  readonly reason: string
}

/**
 * Returns a statement without what does not decide where it runs: lists of columns and of values. So it is named by
 * its tables and conditions, and a new column changes no name.
 */
export const formOf = (sql: string): string => {
  const lists = sql.replaceAll(/\((?:\(?\?\)?(?:, )?)+\)/g, '(?)').replaceAll(/\s+/g, ' ')
  const innermost = /\bselect (?!… )(?:(?!\bselect\b).)*? from /
  let form = lists
  // From the innermost query outwards, since a column may be a query itself.
  while (innermost.test(form)) form = form.replace(innermost, 'select … from ')
  return form.replaceAll('`', '').replace(/^(insert (?:ignore )?into \w+ )\([^)]*\)/, '$1(…)')
}

/** Reads a table with a heading, whose columns are separated by tabs. */
export const readNamed = (text: string): readonly Named[] =>
  text
    .split('\n')
    .slice(1)
    .filter((line) => line !== '')
    .map((line) => {
      const [place = '', form = '', reason = ''] = line.split('\t')
      return { place, form, reason }
    })
