import type { StandIn, StandInAnswer, StandInCall } from './stand-in.ts'
import { startStandIn, valueAt, wordAt } from './stand-in.ts'

interface Datasource {
  readonly id: number
  readonly uid: string
  readonly name: string
  readonly url: string
  readonly isDefault: boolean
  readonly secureJsonData: unknown
  readonly version: number
}
interface Organization {
  readonly id: number
  readonly name: string
  readonly folders: Map<string, { readonly id: number; readonly uid: string; readonly title: string }>
  readonly datasources: Map<string, Datasource>
  readonly accounts: Map<number, { readonly name: string; readonly role: string }>
  readonly tokens: Map<number, { readonly accountId: number; readonly name: string; readonly key: string }>
  /** Folders that hold something of people. */
  readonly filledFolders: Set<string>
}

const said = (status: number, message: string): StandInAnswer => ({ status, json: { message } })

export interface GrafanaStandIn extends StandIn {
  organization(name: string): Organization | undefined
  organizations(): readonly Organization[]
}

const shownOf = ({ secureJsonData: _, ...datasource }: Datasource): object => ({
  ...datasource,
  type: 'prometheus',
  access: 'proxy',
  secureJsonFields: { httpHeaderValue1: true },
})

/** A Grafana as its HTTP API documents it: organizations, folders, datasources, service accounts and their tokens. */
export const startGrafanaStandIn = async (user = 'admin', password = 'admin'): Promise<GrafanaStandIn> => {
  const organizations = new Map<number, Organization>()
  let last = 0
  const next = (): number => (last += 1)
  const named = (name: string) => [...organizations.values()].find((each) => each.name === name)

  const makeOrganization = (name: string): StandInAnswer => {
    if (name === '') return said(400, 'bad request data')
    if (named(name) !== undefined) return said(409, 'Organization name taken')
    const id = next()
    const empty = { folders: new Map(), datasources: new Map(), accounts: new Map(), tokens: new Map() }
    organizations.set(id, { id, name, ...empty, filledFolders: new Set() } as Organization)
    return { status: 200, json: { orgId: id, message: 'Organization created' } }
  }

  const writeDatasource = (org: Organization, body: unknown, pathUid: string | undefined): StandInAnswer => {
    const [uid, name, url] = [wordAt(body, 'uid'), wordAt(body, 'name'), wordAt(body, 'url')]
    if (name === '' || wordAt(body, 'type') === '' || wordAt(body, 'access') === '')
      return said(400, 'bad request data')
    if (!/^[a-zA-Z0-9_-]{1,40}$/.test(uid) || name.length > 190) return said(400, 'invalid uid or name')
    const before = org.datasources.get(pathUid ?? uid)
    if (pathUid !== undefined && before === undefined) return said(404, 'Data source not found')
    if (pathUid === undefined && before !== undefined) return said(409, 'data source with the same uid already exists')
    if ([...org.datasources.values()].some((each) => each.name === name && each.uid !== uid))
      return said(409, 'data source with the same name already exists')
    const isDefault = valueAt(body, 'isDefault') === true
    if (isDefault) for (const [key, each] of org.datasources) org.datasources.set(key, { ...each, isDefault: false })
    const secureJsonData = valueAt(body, 'secureJsonData') ?? before?.secureJsonData
    const made = {
      id: before?.id ?? next(),
      uid,
      name,
      url,
      isDefault,
      secureJsonData,
      version: (before?.version ?? 0) + 1,
    }
    org.datasources.set(uid, made)
    const message = `Datasource ${before === undefined ? 'added' : 'updated'}`
    return { status: 200, json: { datasource: shownOf(made), id: made.id, message, name } }
  }

  const ofDatasources = (org: Organization, { method, body }: StandInCall, uid: string | undefined): StandInAnswer => {
    if (method === 'POST') return writeDatasource(org, body, undefined)
    const found = uid === undefined ? undefined : org.datasources.get(uid)
    if (uid === undefined || found === undefined) return said(404, 'Data source not found')
    if (method === 'PUT') return writeDatasource(org, body, uid)
    if (method === 'DELETE') return org.datasources.delete(uid) ? said(200, 'Data source deleted') : said(404, '')
    return { status: 200, json: shownOf(found) }
  }

  const ofFolders = (org: Organization, { method, body }: StandInCall, uid: string | undefined): StandInAnswer => {
    if (method === 'POST') {
      const folder = { id: next(), uid: wordAt(body, 'uid'), title: wordAt(body, 'title') }
      if (folder.title === '' || !/^[a-zA-Z0-9_-]{1,40}$/.test(folder.uid))
        return said(400, 'folder title cannot be empty')
      if (org.folders.has(folder.uid)) return said(412, 'the folder has been changed by someone else')
      if ([...org.folders.values()].some(({ title }) => title === folder.title))
        return said(409, 'a folder with that name already exists')
      org.folders.set(folder.uid, folder)
      return { status: 200, json: { ...folder, version: 1 } }
    }
    const found = uid === undefined ? undefined : org.folders.get(uid)
    if (uid === undefined || found === undefined) return said(404, 'folder not found')
    if (method === 'DELETE') return org.folders.delete(uid) ? said(200, 'Folder deleted') : said(404, '')
    return { status: 200, json: { ...found, version: 1 } }
  }

  const ofTokens = (org: Organization, { method, body }: StandInCall, accountId: number, id: string | undefined) => {
    if (!org.accounts.has(accountId)) return said(404, 'service account not found')
    if (method === 'POST') {
      const name = wordAt(body, 'name')
      if (name === '') return said(400, 'bad request data')
      if ([...org.tokens.values()].some((each) => each.name === name && each.accountId === accountId))
        return said(400, 'service account token with given name already exists in the organization')
      const made = next()
      org.tokens.set(made, { accountId, name, key: `glsa_${made}` })
      return { status: 200, json: { id: made, name, key: `glsa_${made}` } }
    }
    return org.tokens.delete(Number(id)) ? said(200, 'Service account token deleted') : said(404, 'token not found')
  }

  const ofAccounts = (org: Organization, call: StandInCall, rest: string): StandInAnswer => {
    const [, accountId, tokenId] = /^\/(\d+)\/tokens(?:\/(\d+))?$/.exec(rest) ?? []
    if (accountId !== undefined) return ofTokens(org, call, Number(accountId), tokenId)
    if (rest === '/search') {
      const accounts = [...org.accounts].map(([id, account]) => ({ id, ...account, isDisabled: false }))
      const found = accounts.filter(({ name }) => name.includes(call.query.get('query') ?? ''))
      return { status: 200, json: { totalCount: found.length, serviceAccounts: found, page: 1, perPage: 1000 } }
    }
    const [name, role] = [wordAt(call.body, 'name'), wordAt(call.body, 'role')]
    if (rest !== '' || call.method !== 'POST' || name === '') return said(400, 'bad request data')
    if ([...org.accounts.values()].some((each) => each.name === name))
      return said(400, 'service account already exists')
    const id = next()
    org.accounts.set(id, { name, role })
    return { status: 201, json: { id, name, login: `sa-${org.id}-${name}`, orgId: org.id, role, isDisabled: false } }
  }

  const expected = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
  const standIn = await startStandIn((call) => {
    if (call.headers.authorization !== expected) return said(401, 'Invalid username or password')
    const { method, path } = call
    if (path === '/api/orgs' && method === 'POST') return makeOrganization(wordAt(call.body, 'name'))
    const byName = /^\/api\/orgs\/name\/([^/]+)$/.exec(path)?.[1]
    if (byName !== undefined) {
      const found = named(decodeURIComponent(byName))
      return found === undefined
        ? said(404, 'Organization not found')
        : { status: 200, json: { id: found.id, name: found.name, address: {} } }
    }
    const org = organizations.get(Number(call.headers['x-grafana-org-id']))
    if (org === undefined) return said(401, 'You are not a member of this organization')
    const datasource = /^\/api\/datasources(?:\/uid\/([^/]+))?$/.exec(path)
    if (datasource !== null) return ofDatasources(org, call, datasource[1])
    const folder = /^\/api\/folders(?:\/([^/]+))?$/.exec(path)
    if (folder !== null) return ofFolders(org, call, folder[1])
    if (path === '/api/search')
      return {
        status: 200,
        json: org.filledFolders.has(call.query.get('folderUIDs') ?? '') ? [{ type: 'dash-db' }] : [],
      }
    const account = /^\/api\/serviceaccounts(.*)$/.exec(path)
    return account === null ? said(404, 'Not found') : ofAccounts(org, call, account[1] ?? '')
  })
  return Object.assign(standIn, { organization: named, organizations: () => [...organizations.values()] })
}
