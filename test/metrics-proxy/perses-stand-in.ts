import type { StandIn, StandInAnswer, StandInCall } from './stand-in.ts'
import { startStandIn, valueAt, wordAt } from './stand-in.ts'

type Document = Record<string, unknown>

const kinds = { secrets: 'Secret', folders: 'Folder', datasources: 'Datasource' } as const
type Plural = keyof typeof kinds

const refused = (message: string): StandInAnswer => ({ status: 400, json: { message: `bad request: ${message}` } })
const missing: StandInAnswer = { status: 404, json: { message: 'document not found' } }
const exists: StandInAnswer = { status: 409, json: { message: 'document already exists' } }

const nameProblem = (name: string): string | undefined => {
  if (name === '') return 'name cannot be empty'
  if (name.length > 75) return 'cannot contain more than 75 characters'
  return /^[a-zA-Z0-9_.-]+$/.test(name) ? undefined : `"${name}" is not a correct name`
}

/** What a Perses 0.53.1 was seen to refuse of a document. */
const specProblem = (plural: Plural, spec: unknown): string | undefined => {
  if (plural === 'folders') {
    if (!Array.isArray(spec) || spec.length === 0) return 'spec cannot be empty'
    return spec.every(
      (entry) => ['Dashboard', 'Folder'].includes(wordAt(entry, 'kind')) && wordAt(entry, 'name') !== '',
    )
      ? undefined
      : 'kind can only be "Dashboard" or "Folder"'
  }
  if (plural === 'secrets') return typeof spec === 'object' && spec !== null ? undefined : 'spec is missing'
  const kind = wordAt(spec, 'plugin', 'kind')
  if (kind !== 'PrometheusDatasource') return `invalid datasource kind "${kind}"`
  const url = wordAt(spec, 'plugin', 'spec', 'proxy', 'spec', 'url')
  return URL.canParse(url) ? undefined : 'invalid URL'
}

export interface PersesStandIn extends StandIn {
  /** The documents of a project, secrets with their credentials. */
  all(project: string, plural: Plural): readonly Document[]
  projects(): readonly string[]
  put(project: string, plural: Plural, name: string, spec: unknown): void
}

/** A Perses as one of 0.53.1 was seen to answer: strict on names, folders and defaults; PUT makes nothing. */
export const startPersesStandIn = async (token?: string): Promise<PersesStandIn> => {
  const projects = new Set<string>()
  const stored = new Map<string, Document>()
  const keyOf = (project: string, plural: Plural, name: string): string => `${project}/${plural}/${name}`
  const listed = (project: string, plural: Plural): readonly Document[] =>
    [...stored].filter(([key]) => key.startsWith(`${project}/${plural}/`)).map(([, document]) => document)
  const shown = (document: Document): Document => {
    if (document['kind'] !== 'Secret') return document
    const { authorization } = document['spec'] as { authorization?: object }
    return { ...document, spec: { authorization: { ...authorization, credentials: '<secret>' } } }
  }

  const save = (project: string, plural: Plural, name: string, spec: unknown, version: number): StandInAnswer => {
    const metadata = { name, project, version }
    const document = { kind: kinds[plural], metadata, spec }
    stored.set(keyOf(project, plural, name), document)
    return { status: 200, json: shown(document) }
  }

  const write = (project: string, plural: Plural, pathName: string | undefined, body: unknown): StandInAnswer => {
    const sentProject = wordAt(body, 'metadata', 'project')
    if (wordAt(body, 'kind') !== kinds[plural]) return refused('invalid kind')
    if (sentProject !== '' && sentProject.toLowerCase() !== project) return refused('project parameter does not match')
    const name = wordAt(body, 'metadata', 'name').toLowerCase()
    const spec = valueAt(body, 'spec')
    const problem = nameProblem(name) ?? specProblem(plural, spec)
    if (problem !== undefined) return refused(problem)
    if (pathName !== undefined && pathName.toLowerCase() !== name) return refused('name parameter does not match')
    const before = stored.get(keyOf(project, plural, name))
    if (pathName !== undefined && before === undefined) return missing
    if (!projects.has(project)) return refused(`metadata.project "${project}" doesn't exist`)
    if (pathName === undefined && before !== undefined) return exists
    const others = listed(project, plural).filter((each) => wordAt(each, 'metadata', 'name') !== name)
    if (plural === 'datasources' && valueAt(spec, 'default') === true) {
      const other = others.find((each) => valueAt(each, 'spec', 'default') === true)
      if (other !== undefined)
        return refused(`there is already one defined named "${wordAt(other, 'metadata', 'name')}"`)
    }
    const version = pathName === undefined ? 0 : Number(valueAt(before, 'metadata', 'version')) + 1
    return save(project, plural, name, spec, version)
  }

  const inProject = (call: StandInCall, project: string, plural: Plural, name: string | undefined): StandInAnswer => {
    if (call.method === 'POST' || call.method === 'PUT') return write(project, plural, name, call.body)
    if (name === undefined)
      return projects.has(project)
        ? { status: 200, json: listed(project, plural).map(shown) }
        : refused(`metadata.project "${project}" doesn't exist`)
    if (call.method === 'GET' && !projects.has(project)) return refused(`metadata.project "${project}" doesn't exist`)
    const key = keyOf(project, plural, name.toLowerCase())
    const found = stored.get(key)
    if (found === undefined) return missing
    if (call.method === 'DELETE') return stored.delete(key) ? { status: 204 } : missing
    return { status: 200, json: shown(found) }
  }

  const standIn = await startStandIn((call) => {
    if (token !== undefined && call.headers.authorization !== `Bearer ${token}`)
      return { status: 401, json: { message: 'missing or malformed jwt' } }
    const path = /^\/api\/v1\/projects(?:\/([^/]+)(?:\/(secrets|folders|datasources)(?:\/([^/]+))?)?)?$/.exec(call.path)
    if (path === null) return { status: 404, json: { message: 'Not Found' } }
    const [, project, plural, name] = path
    if (project !== undefined && plural !== undefined)
      return inProject(call, decodeURIComponent(project).toLowerCase(), plural as Plural, name)
    if (call.method !== 'POST' || project !== undefined) return { status: 405, json: { message: 'Method Not Allowed' } }
    const made = wordAt(call.body, 'metadata', 'name').toLowerCase()
    const problem = nameProblem(made)
    if (problem !== undefined) return refused(problem)
    if (projects.has(made)) return exists
    projects.add(made)
    return { status: 200, json: call.body }
  })
  return Object.assign(standIn, {
    all: listed,
    projects: () => [...projects],
    put: (project: string, plural: Plural, name: string, spec: unknown) => {
      projects.add(project)
      save(project, plural, name, spec, 0)
    },
  })
}
