/** One field of a credential's block. */
export interface CredentialField {
  readonly kind: 'text' | 'list' | 'instant' | 'https-url' | 'service-account' | 'kubeconfig'
  /** Never shown again. */
  readonly isSecret: boolean
  readonly isRequired: boolean
}

/** What a type of credential consists of. The order of the fields is the order in which they are shown. */
export interface CredentialType {
  /** The key under which the fields stand. */
  readonly block: string
  readonly fields: Readonly<Record<string, CredentialField>>
}

type Kind = CredentialField['kind']
const shown = (kind: Kind = 'text'): CredentialField => ({ kind, isSecret: false, isRequired: true })
const secret = (kind: Kind = 'text'): CredentialField => ({ kind, isSecret: true, isRequired: true })
const maybe = (field: CredentialField): CredentialField => ({ ...field, isRequired: false })

const tokenOf = (block: string): CredentialType => ({ block, fields: { token: secret() } })

/** Every type of credential, by its word in `type`. The words are data of the interface. */
export const credentialTypes: Readonly<Record<string, CredentialType>> = {
  Aws: { block: 'aws', fields: { accessKeyID: shown(), secretAccessKey: secret(), sessionToken: maybe(secret()) } },
  Azure: { block: 'azure', fields: { tenantID: shown(), subscriptionID: shown(), clientID: shown(), clientSecret: secret() } },
  AzureStorage: { block: 'azureStorage', fields: { account: shown(), key: secret() } },
  CloudflareStorage: { block: 'cloudflareStorage', fields: { accountID: shown(), accessKeyID: shown(), secretAccessKey: secret() } },
  DigitalOcean: tokenOf('digitalocean'),
  GoogleCloud: { block: 'googleCloud', fields: { projectID: maybe(shown()), serviceAccount: secret('service-account') } },
  GoogleOAuth: {
    block: 'googleOAuth',
    fields: { accessToken: secret(), refreshToken: maybe(secret()), scopes: maybe(shown('list')), expiry: maybe(shown('instant')) },
  },
  Hetzner: { block: 'hetzner', fields: { sshKeyName: maybe(shown()), token: secret() } },
  HetznerStorage: { block: 'hetznerStorage', fields: { accessKeyID: shown(), secretAccessKey: secret() } },
  KubeVirt: { block: 'kubevirt', fields: { kubeConfig: secret('kubeconfig') } },
  Linode: tokenOf('linode'),
  Packet: { block: 'packet', fields: { projectID: shown(), apiKey: secret() } },
  Rancher: { block: 'rancher', fields: { accessKeyID: shown(), secretAccessKey: secret(), endpoint: shown('https-url') } },
  Scaleway: { block: 'scaleway', fields: { organization: shown(), token: secret() } },
  Swift: {
    block: 'swift',
    fields: {
      username: shown(),
      password: secret(),
      tenantName: maybe(shown()),
      tenantAuthURL: shown('https-url'),
      domain: maybe(shown()),
      region: maybe(shown()),
      tenantID: maybe(shown()),
      tenantDomain: maybe(shown()),
    },
  },
  Vultr: tokenOf('vultr'),
}

export const credentialTypeWords: readonly string[] = Object.keys(credentialTypes)

/** The type whose credentials belong to a fleet manager, found by its endpoint. */
export const fleetType = 'Rancher'

/** The type of that word, or undefined; words of the language itself are none. */
export const credentialTypeNamed = (word: string): CredentialType | undefined =>
  Object.hasOwn(credentialTypes, word) ? credentialTypes[word] : undefined
