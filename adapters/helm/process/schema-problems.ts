import { unreadableSchema, withheldEnd, withheldScheme } from '../../../core/packages/charts/ports.ts'
import type { SchemaChart } from '../../../core/packages/charts/ports.ts'

/** The number of lines for one check. More lines are of no use. */
const maxLines = 50
const longestLine = 300

const heading = "Error: values don't meet the specifications of the schema(s)"

/** A text in single quotes, as helm prints names and values. */
const quoted = String.raw`'(?:[^'\\]|\\.)*'`
const problem = new RegExp(String.raw`^ *- at (${quoted}): (.*)$`)

/** Where helm quotes a value, the text without the value. */
const withoutValue: readonly (readonly [RegExp, string])[] = [
  [new RegExp(String.raw`^${quoted} (does not match pattern .*)$`), '$1'],
  [new RegExp(String.raw`^${quoted} is not valid ([A-Za-z0-9-]+).*$`), 'is not a valid $1'],
  [new RegExp(String.raw`^${quoted} is not .*$`), 'has a content that is not allowed'],
  [/^(\w+): got .+, want ([^,]+)$/, '$1: want $2'],
  [/^(?!got ).* is not multiple of (.+)$/, 'is not a multiple of $1'],
]

const said = (text: string): string => {
  const [pattern, form] = withoutValue.find(([each]) => each.test(text)) ?? []
  const shown = pattern === undefined || form === undefined ? text : text.replace(pattern, form)
  return shown.length > longestLine ? `${shown.slice(0, longestLine)}…` : shown
}

const dotted = (pointer: string): string =>
  pointer
    .slice(1, -1)
    .replace(/\\(.)/g, '$1')
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .join('.')

/** Returns what is wrong with a schema, given what helm says of it. */
const schemaFault = (line: string): string => {
  // Helm 3 before 3.18 names the address in the words of its HTTP client.
  const [, address] = /failing loading "([^"]*)"/.exec(line) ?? /\bGet "([^"]*)": unsupported/.exec(line) ?? []
  if (address === undefined) return `cannot be used: ${line.trim().slice(0, longestLine)}`
  if (address.startsWith(unreadableSchema)) return 'is not JSON'
  const original = address.replace(withheldScheme, '').replace(withheldEnd, '')
  return `refers to ${original.slice(0, 200)}, which is outside of it; nothing is fetched`
}

/** Returns one line of helm in the form `path: what`; undefined for a line without news. */
const lineOf = (chart: string, line: string): string | undefined => {
  const [, pointer, text] = problem.exec(line) ?? []
  if (pointer !== undefined && text !== undefined) {
    const where = [chart, dotted(pointer)].filter((part) => part !== '').join('.')
    return `${where === '' ? '(root)' : where}: ${said(text)}`
  }
  // Helm 3 before 3.18 prints paths without quotes, and no values.
  const [, path = '', what = ''] = /^- ([^:]+): (.*)$/.exec(line) ?? []
  if (path !== '')
    return (
      `${[chart, path === '(root)' ? '' : path].filter((part) => part !== '').join('.') || '(root)'}: ` +
      `${said(what)}`
    )
  return line.trim() === '' ? undefined : `${chart === '' ? '' : `${chart}: `}values.schema.json ${schemaFault(line)}`
}

/** Returns the chart whose name ends a line before a colon, as its path; the text before the name is another line's. */
const headingOf = (
  line: string,
  { root, paths }: ChartNames,
): { readonly path: string; readonly before: string } | undefined => {
  if (!line.endsWith(':')) return undefined
  const names = [{ name: root, path: '' }, ...paths.map((path) => ({ name: path.split('.').at(-1) ?? path, path }))]
  const [found, ...others] = names
    .filter(({ name }) => line.endsWith(`${name}:`))
    .sort((a, b) => b.name.length - a.name.length)
  if (found === undefined) return undefined
  // Two charts of one name cannot be distinguished.
  const isOne = !others.some(({ name }) => name === found.name)
  return { path: isOne ? found.path : found.name, before: line.slice(0, -found.name.length - 1) }
}

/** The charts that helm may name. */
export type ChartNames = Pick<SchemaChart, 'root' | 'paths'>

/**
 * Returns the problems that helm reports of values and schemas, one line each, without the values; undefined if helm
 * did not end because of them. Problems of a subchart begin with its path.
 */
export const schemaProblems = (stderr: string, names: ChartNames): readonly string[] | undefined => {
  const lines = stderr.split('\n')
  const start = lines.findIndex((line) => line.startsWith(heading))
  if (start < 0) return undefined
  let chart = ''
  const found = new Set<string>()
  const add = (line: string): void => {
    const text = lineOf(chart, line)
    if (text !== undefined) found.add(text)
  }
  for (const line of lines.slice(start + 1)) {
    const next = headingOf(line, names)
    add(next === undefined ? line : next.before)
    chart = next?.path ?? chart
  }
  if (found.size === 0) return ['values.schema.json cannot be used']
  return found.size > maxLines ? [...[...found].slice(0, maxLines), `and ${found.size - maxLines} more`] : [...found]
}
