import * as t from 'io-ts'
import { path } from '../../kit/access.ts'
import {
  answer,
  described,
  freeText,
  Instant,
  InstantText,
  naming,
  optional,
  pathName,
  request,
  textLines,
} from '../../kit/codecs.ts'

const claim = {
  url: described(
    optional(freeText(512, 1)),
    'The https:// or oci:// address of the repository without a user name, at most 512 characters; unchanged if ' +
      'it is absent.',
  ),
  plain_http: described(
    optional(t.boolean),
    'Whether a registry (oci://) is reached without TLS; false by default, and unchanged if it is absent from a ' +
      'change.',
  ),
  description: described(
    optional(textLines(1000)),
    'What the repository is, for people, at most 1,000 characters; empty by default, and unchanged if it is ' +
      'absent from a change.',
  ),
  username: described(
    optional(freeText(255)),
    'The user name for the repository, without a colon, at most 255 characters; none by default. An empty string ' +
      'removes it.',
  ),
  password: described(
    optional(freeText(4096)),
    'The password of `username`, at most 4,096 characters. It is stored encrypted and never returned. An empty ' +
      'string removes it.',
  ),
  token: described(
    optional(freeText(8192)),
    'A bearer token instead of a user name, at most 8,192 characters. It is stored encrypted and never returned. ' +
      'An empty string removes it.',
  ),
  ca: described(
    optional(textLines(65_536)),
    'Certificates in PEM that are trusted instead of the usual authorities, at most 65,536 characters; none by ' +
      'default. An empty string removes them.',
  ),
  certificate: described(
    optional(textLines(65_536)),
    'A client certificate in PEM, sent together with `key`, at most 65,536 characters; none by default. An empty ' +
      'string removes it.',
  ),
  key: described(
    optional(textLines(65_536)),
    'The private key of `certificate` in PEM, at most 65,536 characters. It is stored encrypted and never ' +
      'returned. An empty string removes it.',
  ),
}

export const CreateChartRepositoryOption = request(
  {
    ...claim,
    name: described(
      freeText(63, 1),
      'The name of the repository in its account: 1 to 63 lower-case letters, digits and hyphens, a letter or digit ' +
        'first and last.',
    ),
    url: described(
      freeText(512, 1),
      'The https:// or oci:// address of the repository without a user name, at most 512 characters.',
    ),
  },
  'CreateChartRepositoryOption',
)
export const EditChartRepositoryOption = request(claim, 'EditChartRepositoryOption')

/** A named repository. Only the names of its credentials are shown. */
export const NamedChartRepository = answer(
  {
    name: described(t.string, 'The name of the repository in its account.'),
    url: described(t.string, 'The address of the repository, without a slash at its end.'),
    plain_http: described(t.boolean, 'Whether a registry (oci://) is reached without TLS.'),
    description: described(t.string, 'What the repository is, for people; may be empty.'),
    username: described(t.string, 'The user name for the repository; empty if there is none.'),
    credentials: described(
      t.readonlyArray(t.string),
      'Which credentials are stored: `password`, `token`, `ca`, `certificate`; empty if none is.',
    ),
    created_at: described(Instant, 'The time of the creation, RFC 3339.'),
    updated_at: described(Instant, 'The time of the last change, RFC 3339.'),
  },
  'NamedChartRepository',
)

/** A repository that the caller may install from. `owner` is the account that holds it under this name. */
export const ChartRepositoryEntry = answer(
  {
    name: described(t.string, 'The name of the repository in its account.'),
    url: described(t.string, 'The address of the repository, without a slash at its end.'),
    username: described(optional(t.string), 'The user name for the repository; absent if there is none.'),
    owner: described(t.string, 'The name of the user or organization that has the repository.'),
  },
  'ChartRepositoryEntry',
)

const text = optional(t.string)
const texts = optional(t.readonlyArray(t.string))

/** The facts of a version in an index or a registry. Missing facts are absent. */
export const ChartVersion = answer(
  {
    name: described(t.string, 'The name of the chart.'),
    version: described(t.string, 'The version of the chart, as its repository states it.'),
    description: described(text, 'What the chart is, for people; absent if it does not say.'),
    apiVersion: described(text, 'The version of the format of the chart, as `v2`; absent if it is not stated.'),
    appVersion: described(text, 'The version of the application that the chart installs; absent if it is not stated.'),
    kubeVersion: described(
      text,
      'The range of the versions of Kubernetes that the chart requires; absent if it requires none.',
    ),
    type: described(text, 'The type of the chart: `application` or `library`; absent if it is not stated.'),
    deprecated: described(optional(t.boolean), 'True for a deprecated chart; absent otherwise.'),
    icon: described(
      text,
      'The address of the icon, as in the chart; this service does not fetch it. Absent if there is none.',
    ),
    home: described(text, 'The address of the home page; absent if there is none.'),
    keywords: described(texts, 'The keywords of the chart; absent if there are none.'),
    sources: described(texts, 'The addresses of the source code; absent if there are none.'),
    urls: described(texts, 'The addresses of the archive, as in the index; absent if there are none.'),
    // The text of the index or the registry, unchanged.
    created: described(
      optional(InstantText),
      'The time at which the version was published, as the index states it; absent if it does not.',
    ),
    digest: described(text, 'The digest of the archive, as the index states it; absent if it does not.'),
  },
  'ChartVersion',
)

const inAccount = {
  orgname: described(
    pathName('account'),
    'The organization that has the repositories, or your own user name for your own.',
  ),
}
const inRepository = {
  ...inAccount,
  repository: described(pathName('chart repository'), 'The name of the repository in its account.'),
}
export const AccountPath = request(inAccount, 'ChartRepositoryAccountPath')
export const RepositoryPath = request(inRepository, 'ChartRepositoryPath')
export const RepositoryChartPath = request(
  {
    ...inRepository,
    chart: described(pathName('chart'), 'The name of the chart in the named repository.'),
  },
  'ChartRepositoryChartPath',
)
export const ChartPath = request(
  {
    name: described(pathName('chart'), 'The name of the chart in the repository at `url`.'),
  },
  'ChartNamePath',
)
export const RepositoryUrlQuery = request(
  {
    url: described(
      naming(freeText(512, 1), 'chart repository', 'url'),
      'The address of a repository that `GET /chartrepositories` lists for you, at most 512 characters.',
    ),
  },
  'RepositoryUrlQuery',
)

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

export const entryExample = {
  name: 'internal',
  url: 'https://charts.example.com/stable',
  username: 'reader',
  owner: 'acme',
}

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
