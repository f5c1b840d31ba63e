import { readFileSync } from 'node:fs'
import test from 'ava'
import type { AssembledRoute } from '../../composition/runtime/assemble.ts'
import type { Operation } from '../../composition/runtime/http/openapi/document.ts'
import { buildDocument, documentPath } from '../../composition/runtime/http/openapi/document.ts'
import type { Access } from '../../plugins/kit/access.ts'
import { catalogue } from '../authz/catalogue.ts'
import { declaredRoutes, documentTags } from '../support/declared-routes.ts'
import type { SpecRow } from './rows.ts'
import { notBuiltYet, notDeclared, shapeOf, specRows, widerOperations } from './rows.ts'
import { coverageBy, coveragePage } from './coverage-page.ts'

const routes = declaredRoutes()
const byShape = new Map(
  routes.flatMap((route) => route.methods.map((method) => [shapeOf(method, route.fullPath), route] as const)),
)
const document = buildDocument(routes, {
  baseUrl: 'https://moorage.test',
  sessionCookie: 's',
  deployment: { type: 'VendorHosted', billingEnabled: true, runMode: 'production' },
  tags: documentTags,
})
const declaredFor = (row: SpecRow): AssembledRoute | undefined => byShape.get(shapeOf(row.method, row.path))
const nameOf = (row: SpecRow): string => `${row.method} ${row.path}`

test('the specification has its 166 routes, each once', (t) => {
  const names = specRows().map(nameOf)
  t.is(names.length, 166)
  t.is(new Set(names).size, 166)
})

test('every route of the specification is declared or listed as missing', (t) => {
  const waiting = new Set(notBuiltYet())
  t.deepEqual(
    specRows()
      .filter((row) => declaredFor(row) === undefined)
      .map(nameOf)
      .filter((name) => !waiting.has(name)),
    [],
  )
})

test('the list of missing routes only shrinks', (t) => {
  const list = notBuiltYet()
  t.deepEqual(
    list.filter((name, index) => list.indexOf(name) !== index),
    [],
    'each row is unique',
  )
  const inSpec = new Set(specRows().map(nameOf))
  t.deepEqual(
    list.filter((name) => !inSpec.has(name)),
    [],
    'a row that the specification does not have',
  )
  const built = specRows()
    .filter((row) => declaredFor(row) !== undefined)
    .map(nameOf)
  t.deepEqual(
    list.filter((name) => built.includes(name)),
    [],
    'declared by now: take these rows off the list',
  )
})

const accessKinds: Readonly<Record<string, readonly Access['kind'][]>> = {
  P: ['public'],
  W: ['public'],
  B: ['password'],
  T: ['signed-in', 'granted'],
  SA: ['site-admin'],
  'T, site admin': ['site-admin'],
}

/** A relation that no term gives: site admins alone hold it. */
const isSiteAdminsOnly = (access: Access): boolean =>
  access.kind === 'granted' && catalogue.objectTypes.some(({ relations }) => relations[access.relation]?.length === 0)

const kindOf = ({ bound: { route } }: AssembledRoute): Access['kind'] =>
  isSiteAdminsOnly(route.access) ? 'site-admin' : route.access.kind

test('callers of each route match the specification', (t) => {
  const wrong = specRows().flatMap((row) => {
    const route = declaredFor(row)
    const allowed = accessKinds[row.auth]
    if (allowed === undefined) return [`${nameOf(row)}: unknown auth "${row.auth}"`]
    return route === undefined || allowed.includes(kindOf(route))
      ? []
      : [`${nameOf(row)} is ${row.auth}, declared ${route.bound.route.access.kind}`]
  })
  t.deepEqual(wrong, [])
})

const documentedStatuses = (row: SpecRow, route: AssembledRoute): ReadonlySet<number> => {
  const operation = document.paths[documentPath(route)]?.[row.method.toLowerCase()] as Operation
  return new Set(Object.keys(operation.responses).map(Number))
}

test('every status that the specification names is documented', (t) => {
  const missing = specRows().flatMap((row) => {
    const route = declaredFor(row)
    if (route === undefined) return []
    const documented = documentedStatuses(row, route)
    return row.statuses.filter((status) => !documented.has(status)).map((status) => `${nameOf(row)}: ${status}`)
  })
  t.deepEqual(missing, [])
})

test('the one success is the status that the specification names', (t) => {
  const wrong = specRows().flatMap((row) => {
    const bound = declaredFor(row)?.bound
    const success = row.statuses.find((status) => status < 300)
    return bound?.kind !== 'json' || success === undefined || bound.route.ok.status === success
      ? []
      : [`${nameOf(row)}: ${bound.route.ok.status}, not ${success}`]
  })
  t.deepEqual(wrong, [])
})

test('routes of one deployment type are gated, and no other route is', (t) => {
  const marketplaces = '/api/v1/dashboard/marketplaces'
  const gateOf = (prefix: string, except?: string): readonly string[] => [
    ...new Set(
      routes
        .filter(({ fullPath }) => fullPath.startsWith(prefix) && (except === undefined || !fullPath.startsWith(except)))
        .map((route) => route.gate),
    ),
  ]
  for (const gate of gateOf('/api/v1/user/contracts')) t.is(gate, 'vendor-hosted')
  t.deepEqual(gateOf('/api/v1/dashboard', marketplaces), ['billing-enabled'])
  t.deepEqual(gateOf(marketplaces), ['any-marketplace'])
  t.deepEqual(gateOf('/marketplace/api/v1'), ['any-marketplace'])
  for (const gate of gateOf('/api/v1/authz')) t.is(gate, 'always')
})

test('each missing wider operation has one needed reason', (t) => {
  const reasons = notDeclared()
  const coverageOf = coverageBy(routes, reasons)
  const unexplained = widerOperations().filter((operation) => {
    const coverage = coverageOf(operation)
    return coverage.state === 'not built' && coverage.reason === undefined
  })
  const waiting = new Set(notBuiltYet())
  t.deepEqual(
    unexplained.map(({ method, path }) => `${method} /api/v1${path}`).filter((name) => !waiting.has(name)),
    [],
  )
  const used = new Set(
    widerOperations().flatMap((operation) => {
      const coverage = coverageOf(operation)
      return coverage.state === 'not built' ? [coverage.reason] : []
    }),
  )
  t.deepEqual(
    reasons.filter(({ reason }) => !used.has(reason)),
    [],
  )
})

test('docs/coverage.md is made from the declarations (make it: npm run docs:coverage)', (t) => {
  t.is(
    readFileSync(new URL('../../docs/coverage.md', import.meta.url), 'utf8'),
    coveragePage(widerOperations(), coverageBy(routes, notDeclared())),
  )
})
