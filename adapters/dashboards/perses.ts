import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../../core/kernel/failure.ts'
import type { FreeObject } from '../../core/kernel/json.ts'
import { at, isObject, isSameJson, textAt } from '../../core/kernel/json.ts'
import type { DashboardSystem, PlacedDatasource, WantedDatasource } from '../../core/metrics-proxy/ports.ts'
import type { DashboardCalls, DashboardHttp } from './dashboard-http.ts'
import { dashboardFailed } from './dashboard-http.ts'

type Failed = Failure<'DashboardFailed'>

const pluginKind = 'PrometheusDatasource'

/**
 * A folder cannot be empty. It may name a dashboard that does not exist: this one, until a person makes dashboards.
 */
const placeholder: readonly FreeObject[] = [{ kind: 'Dashboard', name: 'overview' }]

const projectPath = (project: string, kind: string, name?: string): string =>
  `/projects/${encodeURIComponent(project)}/${kind}${name === undefined ? '' : `/${encodeURIComponent(name)}`}`

const document = (kind: string, project: string, name: string, spec: unknown): FreeObject =>
  ({ kind, metadata: { project, name }, spec }) as FreeObject

/** Makes an object, or leaves the one that exists. */
const ensure = async (calls: DashboardCalls, path: string, body: FreeObject): Outcome<Failed, void> => {
  const made = await calls.send('POST', path, [200, 409], body)
  return isLeft(made) ? made : right(undefined)
}

/** Makes an object of a project, or changes the one that exists: PUT changes only what exists. */
const put = async (
  calls: DashboardCalls,
  project: string,
  kind: 'secrets' | 'datasources',
  name: string,
  body: FreeObject,
): Outcome<Failed, void> => {
  const changed = await calls.send('PUT', projectPath(project, kind, name), [200, 404], body)
  if (isLeft(changed)) return changed
  if (changed.right.status === 200) return right(undefined)
  const made = await calls.send('POST', projectPath(project, kind), [200, 409], body)
  if (isLeft(made)) return made
  if (made.right.status === 200) return right(undefined)
  const again = await calls.send('PUT', projectPath(project, kind, name), [200], body)
  return isLeft(again) ? again : right(undefined)
}

const isOtherDefault = (found: FreeObject, name: string): boolean =>
  at(found, 'spec', 'default') === true &&
  textAt(found, 'spec', 'plugin', 'kind') === pluginKind &&
  textAt(found, 'metadata', 'name') !== name

/** A project has one default datasource of a kind: the others are changed first, or ours would be refused. */
const takeDefault = async (calls: DashboardCalls, project: string, name: string): Outcome<Failed, void> => {
  const listed = await calls.send('GET', projectPath(project, 'datasources'), [200])
  if (isLeft(listed)) return listed
  const found = Array.isArray(listed.right.json) ? (listed.right.json as readonly unknown[]).filter(isObject) : []
  for (const other of found.filter((each) => isOtherDefault(each, name))) {
    const otherName = textAt(other, 'metadata', 'name')
    const spec = { ...(other['spec'] as FreeObject), default: false }
    const body = document('Datasource', project, otherName, spec)
    const changed = await calls.send('PUT', projectPath(project, 'datasources', otherName), [200, 404], body)
    if (isLeft(changed)) return changed
  }
  return right(undefined)
}

const datasourceSpec = ({ url, isDefault, backend, title }: WantedDatasource): FreeObject => ({
  display: { name: title },
  default: isDefault,
  plugin: { kind: pluginKind, spec: { proxy: { kind: 'HTTPProxy', spec: { url, secret: backend } } } },
})

const removeOf = async (calls: DashboardCalls, path: string): Outcome<Failed, void> => {
  const gone = await calls.send('DELETE', path, [200, 204, 404])
  return isLeft(gone) ? gone : right(undefined)
}

/** Deletes the folder unless people have put dashboards into it. */
const removeOwnFolder = async (calls: DashboardCalls, project: string, name: string): Outcome<Failed, void> => {
  const path = projectPath(project, 'folders', name)
  // 400: the project does not exist.
  const found = await calls.send('GET', path, [200, 400, 404])
  if (isLeft(found)) return found
  const spec = isObject(found.right.json) ? found.right.json['spec'] : undefined
  return found.right.status === 200 && isSameJson(spec, placeholder) ? removeOf(calls, path) : right(undefined)
}

/**
 * DashboardSystem over the HTTP API of Perses. Each tenant has a project, which is kept when its last datasource is
 * removed: it may hold dashboards. Names are of lower-case letters, as Perses stores them. Perses issues no tokens.
 * @param url the address for clients.
 */
export const makePerses = (url: string, http: DashboardHttp): DashboardSystem => ({
  url,
  async put(wanted, signal): Outcome<Failed, PlacedDatasource> {
    const { backend: name, tenantName: project } = wanted
    if (name.length > 75) return left(dashboardFailed('the name is longer than Perses takes'))
    const calls = http.begin(signal)
    const secret = {
      authorization: { type: 'Bearer', credentials: wanted.proxyToken.reveal() },
    }
    const folder = document('Folder', project, name, placeholder)
    const steps: readonly (() => Outcome<Failed, void>)[] = [
      () => ensure(calls, '/projects', { kind: 'Project', metadata: { name: project }, spec: {} }),
      () => put(calls, project, 'secrets', name, document('Secret', project, name, secret)),
      () => ensure(calls, projectPath(project, 'folders'), folder),
      async () => (wanted.isDefault ? takeDefault(calls, project, name) : right(undefined)),
      () => put(calls, project, 'datasources', name, document('Datasource', project, name, datasourceSpec(wanted))),
    ]
    for (const step of steps) {
      const done = await step()
      if (isLeft(done)) return done
    }
    return right({
      placement: { datasource: name, folderId: 0, projectName: project, folderName: name, issuedToken: '' },
      token: undefined,
    })
  },
  async remove({ backend: name, tenantName: project }, signal) {
    const calls = http.begin(signal)
    const datasource = await removeOf(calls, projectPath(project, 'datasources', name))
    if (isLeft(datasource)) return datasource
    const secret = await removeOf(calls, projectPath(project, 'secrets', name))
    return isLeft(secret) ? secret : removeOwnFolder(calls, project, name)
  },
})
