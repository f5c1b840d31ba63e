export const config = (user: object, server = 'https://k8s.example.com') =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster: { server } }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  })

/** Bodies that an import is refused for, with what is wrong. */
export const refusedImports: readonly (readonly [string, object])[] = [
  ['no name', { basicInfo: {} }],
  ['no basicInfo', {}],
  ['a name that is no label', { basicInfo: { name: 'Shop_1' } }],
  ['a name of 58 characters', { basicInfo: { name: 'n'.repeat(58) } }],
  ['a name of another record', { basicInfo: { name: 'hub' } }],
  ['another owner', { basicInfo: { name: 'a', ownerID: 1 } }],
  ['another hub', { basicInfo: { name: 'a', hubClusterID: 'another' } }],
  ['an unknown way to authenticate', { basicInfo: { name: 'a' }, provider: { managedAuthMode: 'Magic' } }],
  ['a profile that is no label', { basicInfo: { name: 'a' }, components: { clusterProfile: 'A b' } }],
  [
    'a kubeconfig that runs a command',
    {
      basicInfo: { name: 'a' },
      provider: { accessConfig: config({ exec: { command: 'sh', apiVersion: 'client.authentication.k8s.io/v1' } }) },
    },
  ],
  [
    'a kubeconfig with a plugin',
    { basicInfo: { name: 'a' }, provider: { accessConfig: config({ 'auth-provider': { name: 'oidc' } }) } },
  ],
  [
    'a kubeconfig with a file',
    { basicInfo: { name: 'a' }, provider: { accessConfig: config({ tokenFile: '/etc/passwd' }) } },
  ],
  [
    'a link-local address',
    { basicInfo: { name: 'a' }, provider: { accessConfig: config({ token: 'x' }, 'https://169.254.169.254') } },
  ],
  ['a kubeconfig that is none', { basicInfo: { name: 'a' }, provider: { accessConfig: 'hello' } }],
]
