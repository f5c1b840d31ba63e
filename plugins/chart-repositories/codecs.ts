import * as t from 'io-ts'
import { path } from '../kit/access.ts'
import { answer, freeText, Instant, InstantText, noted, optional, PathName, request, textLines } from '../kit/codecs.ts'

const secretNote = (description: string) => ({ type: 'string', description: `${description} Stored encrypted and never returned. An empty string removes it.` })
const claim = {
  url: optional(freeText(512, 1)),
  plain_http: optional(t.boolean),
  description: optional(textLines(1000)),
  username: optional(freeText(255)),
  password: optional(noted(freeText(4096), secretNote('With `username`.'))),
  token: optional(noted(freeText(8192), secretNote('A bearer token, instead of a user name.'))),
  ca: optional(noted(textLines(65_536), { type: 'string', description: 'Certificates in PEM that are trusted instead of the usual authorities. An empty string removes them.' })),
  certificate: optional(noted(textLines(65_536), { type: 'string', description: 'Client certificate in PEM, with `key`. An empty string removes it.' })),
  key: optional(noted(textLines(65_536), secretNote('Private key of `certificate`, in PEM.'))),
}

export const CreateChartRepositoryOption = request({ ...claim, name: freeText(63, 1), url: freeText(512, 1) }, 'CreateChartRepositoryOption')
export const EditChartRepositoryOption = request(claim, 'EditChartRepositoryOption')

/** A named repository. Only the names of its credentials are shown. */
export const NamedChartRepository = answer(
  {
    name: t.string,
    url: t.string,
    plain_http: t.boolean,
    description: t.string,
    username: t.string,
    credentials: noted(t.readonlyArray(t.string), { description: 'Which credentials are stored: `password`, `token`, `ca`, `certificate`.' }),
    created_at: Instant,
    updated_at: Instant,
  },
  'NamedChartRepository',
)

/** A repository that the caller may install from. `owner` is the account that holds it under this name. */
export const ChartRepositoryEntry = answer({ name: t.string, url: t.string, username: optional(t.string), owner: t.string }, 'ChartRepositoryEntry')

const text = optional(t.string)
const texts = optional(t.readonlyArray(t.string))

/** The facts of a version in an index or a registry. Missing facts are absent. */
export const ChartVersion = answer(
  {
    name: t.string,
    version: t.string,
    description: text,
    apiVersion: text,
    appVersion: text,
    kubeVersion: text,
    type: text,
    deprecated: optional(t.boolean),
    icon: noted(text, { type: 'string', description: 'As in the chart; this service does not fetch it.' }),
    home: text,
    keywords: texts,
    sources: texts,
    urls: texts,
    // The text of the index or the registry, unchanged.
    created: optional(InstantText),
    digest: text,
  },
  'ChartVersion',
)

export const AccountPath = request({ orgname: PathName }, 'ChartRepositoryAccountPath')
export const RepositoryPath = request({ orgname: PathName, repository: PathName }, 'ChartRepositoryPath')
export const RepositoryChartPath = request({ orgname: PathName, repository: PathName, chart: PathName }, 'ChartRepositoryChartPath')
export const ChartPath = request({ name: PathName }, 'ChartNamePath')
export const RepositoryUrlQuery = request({ url: freeText(512, 1) }, 'RepositoryUrlQuery')

export const accountInPath = { type: 'account', name: path('orgname') } as const

export const namedExample = {
  name: 'internal',
  url: 'https://charts.example.com/stable',
  plain_http: false,
  description: 'Charts of our own',
  username: 'reader',
  credentials: ['password'],
  created_at: '2026-11-21T08:00:00.000Z',
  updated_at: '2026-11-21T08:00:00.000Z',
}

export const entryExample = { name: 'internal', url: 'https://charts.example.com/stable', username: 'reader', owner: 'acme' }

export const versionExample = {
  name: 'web',
  version: '1.4.2',
  description: 'A web server',
  apiVersion: 'v2',
  appVersion: '2.1.0',
  urls: ['web-1.4.2.tgz'],
  created: '2026-11-21T08:00:00.000Z',
  digest: 'sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae',
}
