/**
 * The real components that tests use, by the name that `--without` takes.
 * `needs` are components without which this one is pointless.
 */
export const components = {
  mariadb: { what: 'a private MariaDB server, or one of MySQL with --mysql', needs: [] },
  'mysql-8': { what: 'a MySQL 8 server of Maven; used by slow files, and with --mysql 8', needs: ['mariadb'] },
  'mysql-9': { what: 'a MySQL 9 server of Debian; used by slow files, and with --mysql 9', needs: ['mariadb'] },
  kubernetes: { what: 'a real kube-apiserver with etcd', needs: [] },
  'spoke-kubernetes': { what: 'a second kube-apiserver, for spokes of a hub', needs: ['kubernetes'] },
  kubelet: { what: 'a stub kubelet for logs, exec, attach and port-forward', needs: ['kubernetes'] },
  kubectl: { what: 'the kubectl command', needs: [] },
  helm: { what: 'the helm command, versions 3 and 4', needs: [] },
  nats: { what: 'the nats-server command', needs: [] },
  go: { what: 'the go command', needs: [] },
  generators: {
    what: 'generators of clients with their compilers, and spectral; used by slow files only',
    needs: ['go'],
  },
  vtexplain: { what: 'the planner of Vitess, built with Go; used by slow files only', needs: ['go'] },
  chromium: { what: 'Chromium, for the pages', needs: [] },
  promtool: { what: 'the promtool command of Prometheus, and its server for slow files', needs: [] },
  nginx: { what: 'the nginx command', needs: [] },
  containers: { what: 'buildah and mmdebstrap, which build the container image; used by slow files only', needs: [] },
  'last-release': {
    what: 'the commit of the last release in the history; used by slow files only',
    needs: ['mariadb'],
  },
  haproxy: { what: 'the haproxy command; used by slow files only', needs: [] },
  keycloak: { what: 'Keycloak of Maven, on Java 17; used by slow files only', needs: [] },
  samba: { what: 'a domain controller of Samba, in a small Debian; used by slow files only', needs: [] },
  apache: { what: 'Apache with mod_auth_openidc of Debian; used by slow files only', needs: [] },
  slapd: { what: 'the LDAP server slapd of Debian', needs: [] },
  systemd: { what: 'the systemd-analyze command; used by slow files only', needs: [] },
} as const satisfies Record<string, { readonly what: string; readonly needs: readonly string[] }>

export type ComponentName = keyof typeof components

export const componentNames = Object.keys(components) as readonly ComponentName[]

/** The environment through which the runner tells test files what is there. */
export const environmentNames = {
  without: 'MOORAGE_TEST_WITHOUT',
  thorough: 'MOORAGE_TEST_THOROUGH',
  mariaDbUrl: 'MOORAGE_TEST_MARIADB_URL',
  mysqlRelease: 'MOORAGE_TEST_MYSQL',
  kubeconfig: 'MOORAGE_TEST_KUBECONFIG',
  kubectl: 'MOORAGE_TEST_KUBECTL',
  helm3: 'MOORAGE_TEST_HELM3',
  helm4: 'MOORAGE_TEST_HELM4',
  nats: 'MOORAGE_TEST_NATS_SERVER',
  go: 'MOORAGE_TEST_GO',
  chromium: 'MOORAGE_TEST_CHROMIUM',
  promtool: 'MOORAGE_TEST_PROMTOOL',
  nginx: 'MOORAGE_TEST_NGINX',
} as const

/** True when the run was started with `--without` this component, or without one that it needs. */
export function isSwitchedOff(name: ComponentName, environment: NodeJS.ProcessEnv = process.env): boolean {
  const without = (environment[environmentNames.without] ?? '').split(',')
  return without.includes(name) || components[name].needs.some((needed) => without.includes(needed))
}
