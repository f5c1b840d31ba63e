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
