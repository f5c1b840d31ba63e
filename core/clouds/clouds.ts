/** One cloud whose buckets can be listed. */
export interface Cloud {
  readonly storage: 's3' | 'azure' | 'google'
  /** Types of stored credentials that contain a key for it. */
  readonly types: readonly string[]
  /** Hosts that AWS_ENDPOINT in a secret may name, with the region in the first group; undefined if no endpoint is accepted. */
  readonly endpointHosts?: RegExp
}

const region = '([a-z0-9-]{2,32})'

/** Every cloud with its buckets. */
const clouds = {
  aws: { storage: 's3', types: ['Aws'] },
  azure: { storage: 'azure', types: ['AzureStorage'] },
  google: { storage: 'google', types: ['GoogleCloud'] },
  cloudflare: { storage: 's3', types: ['CloudflareStorage'], endpointHosts: /^[0-9a-f]{32}(?:\.(?:eu|fedramp))?\.r2\.cloudflarestorage\.com$/ },
  digitalocean: { storage: 's3', types: [], endpointHosts: new RegExp(`^${region}\\.digitaloceanspaces\\.com$`) },
  hetzner: { storage: 's3', types: ['HetznerStorage'], endpointHosts: new RegExp(`^${region}\\.your-objectstorage\\.com$`) },
  linode: { storage: 's3', types: [], endpointHosts: new RegExp(`^${region}\\.linodeobjects\\.com$`) },
  scaleway: { storage: 's3', types: [], endpointHosts: new RegExp(`^s3\\.${region}\\.scw\\.cloud$`) },
  vultr: { storage: 's3', types: [], endpointHosts: new RegExp(`^${region}\\.vultrobjects\\.com$`) },
} as const satisfies Readonly<Record<string, Cloud>>
export type CloudName = keyof typeof clouds

/** The words for a cloud in requests: the interface's own, the vendors', and neutral ones. */
const words = {
  aws: 'aws',
  s3: 'aws',
  eks: 'aws',
  cloudA: 'aws',
  azure: 'azure',
  aks: 'azure',
  cloudB: 'azure',
  gce: 'google',
  gcs: 'google',
  gke: 'google',
  google: 'google',
  cloudC: 'google',
  cloudflare: 'cloudflare',
  digitalocean: 'digitalocean',
  hetzner: 'hetzner',
  linode: 'linode',
  scaleway: 'scaleway',
  vultr: 'vultr',
} as const satisfies Readonly<Record<string, CloudName>>
export type CloudWord = keyof typeof words

export const cloudWords = Object.keys(words) as [CloudWord, ...CloudWord[]]

export const cloudOf = (word: CloudWord): { readonly name: CloudName; readonly cloud: Cloud } => ({ name: words[word], cloud: clouds[words[word]] })

/** Returns the cloud that a word in a request names; undefined if there is none. */
export const cloudNamed = (word: string): CloudName | undefined => cloudWords.filter((known) => known === word).map((known) => words[known])[0]

/** Locations where the keys of a Hetzner project are valid: each has its own endpoint and lists its own buckets. */
export const hetznerLocations: readonly string[] = ['fsn1', 'nbg1', 'hel1']
