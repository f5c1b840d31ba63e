import { createHash, randomUUID } from 'node:crypto'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../../core/kernel/failure.ts'
import type { FreeObject } from '../../core/kernel/json.ts'
import { isObject, listAt } from '../../core/kernel/json.ts'
import type { Secret } from '../../core/kernel/secret.ts'
import { optionalSecret } from '../../core/kernel/secret.ts'
import type { DashboardSystem, PlacedDatasource, WantedDatasource } from '../../core/metrics-proxy/ports.ts'
import type { DashboardAnswer, DashboardCalls, DashboardHttp } from './dashboard-http.ts'
import { dashboardFailed, numberAt } from './dashboard-http.ts'

type Failed = Failure<'DashboardFailed'>

/** Grafana's names of objects have at most 40 characters, fewer than a backend. */
const uidOf = (backend: string): string => createHash('sha256').update(backend).digest('hex').slice(0, 40)

/** The service account of each organization, for tokens of clients. */
const accountName = 'moorage'

/** Calls that concern one organization of Grafana. */
interface InOrganization {
  readonly calls: DashboardCalls
  readonly headers: Readonly<Record<string, string>>
}

const organizationId = async (calls: DashboardCalls, name: string): Outcome<Failed, number | undefined> => {
  const found = await calls.send('GET', `/orgs/name/${encodeURIComponent(name)}`, [200, 404])
  if (isLeft(found)) return found
  return found.right.status === 404 ? right(undefined) : numberAt(found.right, 'id')
}

const inOrganization = (calls: DashboardCalls, id: number): InOrganization => ({
  calls,
  headers: { 'x-grafana-org-id': String(id) },
})

/** Returns the organization, which another request may make at the same moment. */
const ensureOrganization = async (calls: DashboardCalls, name: string): Outcome<Failed, InOrganization> => {
  const before = await organizationId(calls, name)
  if (isLeft(before)) return before
  if (before.right !== undefined) return right(inOrganization(calls, before.right))
  const made = await calls.send('POST', '/orgs', [200, 409], { name })
  if (isLeft(made)) return made
  const id = made.right.status === 200 ? numberAt(made.right, 'orgId') : await organizationId(calls, name)
  if (isLeft(id)) return id
  return id.right === undefined
    ? left(dashboardFailed('the organization is neither there nor can it be made'))
    : right(inOrganization(calls, id.right))
}

/** Returns the number of the folder. */
const ensureFolder = async (
  { calls, headers }: InOrganization,
  uid: string,
  title: string,
): Outcome<Failed, number> => {
  const read = () => calls.send('GET', `/folders/${uid}`, [200, 404], undefined, headers)
  const before = await read()
  if (isLeft(before)) return before
  if (before.right.status === 200) return numberAt(before.right, 'id')
  // 409 and 412 are answers to a folder that another request has made.
  const made = await calls.send('POST', '/folders', [200, 409, 412], { uid, title }, headers)
  if (isLeft(made)) return made
  if (made.right.status === 200) return numberAt(made.right, 'id')
  const after = await read()
  if (isLeft(after)) return after
  return after.right.status === 200
    ? numberAt(after.right, 'id')
    : left(dashboardFailed(`another folder has the title "${title}"`))
}

const datasourceOf = (wanted: WantedDatasource, uid: string): FreeObject => ({
  uid,
  name: wanted.backend,
  type: 'prometheus',
  access: 'proxy',
  url: wanted.url,
  isDefault: wanted.isDefault,
  jsonData: { httpHeaderName1: 'Authorization', httpMethod: 'POST' },
  secureJsonData: { httpHeaderValue1: `Bearer ${wanted.proxyToken.reveal()}` },
})

/** Makes the datasource, or changes the one with this uid. */
const putDatasource = async (
  { calls, headers }: InOrganization,
  wanted: WantedDatasource,
  uid: string,
): Outcome<Failed, void> => {
  const body = datasourceOf(wanted, uid)
  const change = () => calls.send('PUT', `/datasources/uid/${uid}`, [200, 404, 409], body, headers)
  const before = await calls.send('GET', `/datasources/uid/${uid}`, [200, 404], undefined, headers)
  if (isLeft(before)) return before
  if (before.right.status === 404) {
    const made = await calls.send('POST', '/datasources', [200, 409], body, headers)
    if (isLeft(made)) return made
    if (made.right.status === 200) return right(undefined)
  }
  const changed = await change()
  if (isLeft(changed)) return changed
  if (changed.right.status === 200) return right(undefined)
  // 409: another program changed it between two calls of ours, or another datasource has its name.
  const again = await change()
  if (isLeft(again)) return again
  return again.right.status === 200
    ? right(undefined)
    : left(dashboardFailed('another datasource has the name, or other programs change it'))
}

const accountNamed = ({ json }: DashboardAnswer): FreeObject | undefined =>
  listAt(json, 'serviceAccounts')
    .filter(isObject)
    .find(({ name }) => name === accountName)

/** Returns the service account of the organization. It can edit dashboards, and no more. */
const ensureAccount = async ({ calls, headers }: InOrganization): Outcome<Failed, number> => {
  const search = () =>
    calls.send('GET', `/serviceaccounts/search?query=${accountName}&perpage=100`, [200], undefined, headers)
  const before = await search()
  if (isLeft(before)) return before
  const known = accountNamed(before.right)
  if (known !== undefined) return numberAt({ status: 200, json: known }, 'id')
  const made = await calls.send(
    'POST',
    '/serviceaccounts',
    [201, 400, 409],
    { name: accountName, role: 'Editor' },
    headers,
  )
  if (isLeft(made)) return made
  if (made.right.status === 201) return numberAt(made.right, 'id')
  const after = await search()
  return isLeft(after) ? after : numberAt({ status: 200, json: accountNamed(after.right) }, 'id')
}

/** Names a token by the numbers of its account and itself. */
const tokenPath = /^[0-9]{1,16}\/[0-9]{1,16}$/

const withdrawToken = async ({ calls, headers }: InOrganization, issued: string): Outcome<Failed, void> => {
  if (!tokenPath.test(issued)) return right(undefined)
  const [account, id] = issued.split('/')
  const gone = await calls.send('DELETE', `/serviceaccounts/${account}/tokens/${id}`, [200, 404], undefined, headers)
  return isLeft(gone) ? gone : right(undefined)
}

interface IssuedToken {
  readonly issued: string
  readonly token: Secret | undefined
}

/** Issues a token and withdraws the former one. Grafana tells its key once. */
const issueToken = async (within: InOrganization, wanted: WantedDatasource): Outcome<Failed, IssuedToken> => {
  const { calls, headers } = within
  const account = await ensureAccount(within)
  if (isLeft(account)) return account
  // Names of tokens are unique in an account. That of a change that did not end must not stop the next one.
  const name = `${wanted.backend} ${randomUUID()}`
  const made = await calls.send('POST', `/serviceaccounts/${account.right}/tokens`, [200, 201], { name }, headers)
  if (isLeft(made)) return made
  const id = numberAt(made.right, 'id')
  if (isLeft(id)) return id
  const key = isObject(made.right.json) ? made.right.json['key'] : undefined
  if (typeof key !== 'string') return left(dashboardFailed('a new token has no key'))
  const withdrawn = await withdrawToken(within, wanted.formerToken)
  if (isLeft(withdrawn)) return withdrawn
  return right({ issued: `${account.right}/${id.right}`, token: optionalSecret(key) })
}

/** Deletes the folder unless it holds something: people's dashboards are not ours to delete. */
const removeEmptyFolder = async ({ calls, headers }: InOrganization, uid: string): Outcome<Failed, void> => {
  const content = await calls.send('GET', `/search?folderUIDs=${uid}&limit=1`, [200], undefined, headers)
  if (isLeft(content)) return content
  if (!Array.isArray(content.right.json) || content.right.json.length > 0) return right(undefined)
  // 400: it holds alert rules.
  const gone = await calls.send('DELETE', `/folders/${uid}`, [200, 400, 404], undefined, headers)
  return isLeft(gone) ? gone : right(undefined)
}

/**
 * DashboardSystem over the HTTP API of Grafana. Each tenant has an organization of Grafana: datasources and tokens of
 * one are out of reach of another. The account must be a server administrator.
 * @param url the address for clients.
 */
export const makeGrafana = (url: string, http: DashboardHttp): DashboardSystem => ({
  url,
  async put(wanted, signal): Outcome<Failed, PlacedDatasource> {
    const within = await ensureOrganization(http.begin(signal), wanted.tenantName)
    if (isLeft(within)) return within
    const uid = uidOf(wanted.backend)
    const folderId = await ensureFolder(within.right, uid, wanted.title)
    if (isLeft(folderId)) return folderId
    const placed = await putDatasource(within.right, wanted, uid)
    if (isLeft(placed)) return placed
    const issued = wanted.issuesToken
      ? await issueToken(within.right, wanted)
      : right({ issued: wanted.formerToken, token: undefined })
    if (isLeft(issued)) return issued
    const place = { datasource: wanted.backend, folderId: folderId.right, projectName: '', folderName: '' }
    return right({ placement: { ...place, issuedToken: issued.right.issued }, token: issued.right.token })
  },
  async remove({ backend, tenantName, formerToken }, signal) {
    const calls = http.begin(signal)
    const id = await organizationId(calls, tenantName)
    if (isLeft(id)) return id
    if (id.right === undefined) return right(undefined)
    const within = inOrganization(calls, id.right)
    const uid = uidOf(backend)
    const gone = await calls.send('DELETE', `/datasources/uid/${uid}`, [200, 404], undefined, within.headers)
    if (isLeft(gone)) return gone
    const withdrawn = await withdrawToken(within, formerToken)
    return isLeft(withdrawn) ? withdrawn : removeEmptyFolder(within, uid)
  },
})
