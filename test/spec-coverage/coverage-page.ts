import type { AssembledRoute } from '../../composition/runtime/assemble.ts'
import type { NotDeclared, WiderOperation } from './rows.ts'
import { shapeOf } from './rows.ts'

/** How an operation of the wider interface is served. A page has no declaration: a listener answers it by itself. */
export type Coverage =
  | { readonly state: 'declared' }
  | { readonly state: 'catch-all'; readonly by: string }
  | { readonly state: 'page' }
  | { readonly state: 'not built'; readonly reason: string | undefined }

const roots = ['/api/v1', '/marketplace/api/v1']
const pages: ReadonlySet<string> = new Set(['GET /swagger'])

/** Returns how each operation is served, by the declarations of all deployment types. */
export const coverageBy = (
  routes: readonly AssembledRoute[],
  reasons: readonly NotDeclared[],
): ((operation: WiderOperation) => Coverage) => {
  const shapes = new Set(routes.flatMap(({ methods, fullPath }) => methods.map((method) => shapeOf(method, fullPath))))
  const catchAlls = routes.flatMap(({ methods, fullPath }) =>
    fullPath.endsWith('/*') ? [{ methods, fullPath, begins: shapeOf('', fullPath.slice(0, -1)).trim() }] : [],
  )
  return ({ group, method, path }) => {
    if (roots.some((root) => shapes.has(shapeOf(method, root + path)))) return { state: 'declared' }
    const shape = shapeOf('', `/api/v1${path}`).trim()
    const caught = catchAlls.find(
      ({ methods, begins }) => methods.some((one) => one === method) && shape.startsWith(`${begins}/`),
    )
    if (caught !== undefined) return { state: 'catch-all', by: caught.fullPath }
    if (pages.has(`${method} ${path}`)) return { state: 'page' }
    const known = reasons.find((reason) => reason.group === group && path.startsWith(reason.begins))
    return { state: 'not built', reason: known?.reason }
  }
}

const words = (coverage: Coverage): string => {
  if (coverage.state === 'declared') return 'declared'
  if (coverage.state === 'page') return 'a page'
  if (coverage.state === 'catch-all') return `by \`${coverage.by.replace('/api/v1', '')}\``
  return `not built: ${coverage.reason ?? 'no reason is given'}`
}

const head = `# Coverage

The interface that clients of the reference know has %ALL% operations. %DECLARED% are declared by a plugin, %CAUGHT% are
served by a route that takes any path below it, %PAGES% is a page, and %MISSING% are not built. A plugin is open on some
deployment types only: the OpenAPI document of a deployment lists its operations. This page is written by
\`npm run docs:coverage\` from the declarations.
`

/** Returns the page with every operation. */
export const coveragePage = (
  operations: readonly WiderOperation[],
  coverageOf: (operation: WiderOperation) => Coverage,
): string => {
  const rows = operations.map((operation) => ({ operation, coverage: coverageOf(operation) }))
  const count = (state: Coverage['state']): string =>
    String(rows.filter(({ coverage }) => coverage.state === state).length)
  const groups = [...new Set(operations.map(({ group }) => group))]
  const sections = groups.map((group) => {
    const own = rows.filter(({ operation }) => operation.group === group)
    const lines = own.map(
      ({ operation, coverage }) => `| ${operation.method} | \`${operation.path}\` | ${words(coverage)} |`,
    )
    const built = own.filter(({ coverage }) => coverage.state !== 'not built').length
    return `## ${group}\n\n${built} of ${own.length}.\n\n| method | path | served |\n|---|---|---|\n${lines.join('\n')}\n`
  })
  const top = head
    .replace('%ALL%', String(rows.length))
    .replace('%DECLARED%', count('declared'))
    .replace('%CAUGHT%', count('catch-all'))
    .replace('%PAGES%', count('page'))
    .replace('%MISSING%', count('not built'))
  return [top, ...sections].join('\n')
}
