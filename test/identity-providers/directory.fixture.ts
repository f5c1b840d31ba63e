import { openDatabase } from '../../adapters/sql/engine/database.ts'
import { runJob } from '../bus/bus-fixture.ts'
import type { Slapd } from '../support/components/slapd.ts'
import { startSlapd, suffix } from '../support/components/slapd.ts'
import type { ServiceAnswer } from '../support/send-json.ts'
import type { ServiceOptions } from '../support/service.ts'
import type { Browser, SignInFixture } from './sign-in.fixture.ts'
import { startSignInFixture } from './sign-in.fixture.ts'

/** A service that reaches a slapd. */
export interface DirectoryFixture extends SignInFixture {
  readonly slapd: Slapd
  /** Adds the directory, with ldaps, to acme or to the site. Throws if it is refused. */
  connectDirectory(owner: 'acme' | 'site', form?: DirectoryForm): Promise<number>
  /** Adds a directory, and returns the answer. */
  addDirectory(owner: 'acme' | 'site', form?: DirectoryForm): Promise<ServiceAnswer>
  /** Enters a name and a password in a browser that has begun a sign-in. */
  enter(browser: Browser, id: number, state: string, username: string, password: string): Promise<ServiceAnswer>
  /** Signs in with a new browser. */
  signInAs(id: number, uid: string, password?: string): Promise<{ browser: Browser; answer: ServiceAnswer }>
  /** Compares every directory, as if it were due. */
  compare(): Promise<void>
}

export interface DirectoryForm {
  readonly directory?: object
  readonly [field: string]: unknown
}

export const people = `ou=people,${suffix}`
export const groups = `ou=groups,${suffix}`

/** Returns the state of an address at which a sign-in began. */
export const stateOf = (url: string): string => new URL(url).searchParams.get('state') ?? ''

let made = 0

/** @param ports further ports of localhost that the service may reach. */
export const startDirectoryFixture = async (
  options: ServiceOptions = {},
  ports: readonly number[] = [],
): Promise<DirectoryFixture> => {
  const slapd = await startSlapd()
  const allowed = [slapd.port, slapd.tlsPort, ...ports].map((port) => `localhost:${port}`)
  const fixture = await startSignInFixture({
    ...options,
    settings: { MOORAGE_EGRESS_ALLOW: ['127.0.0.1', ...allowed].join(','), ...options.settings },
  })
  const addDirectory: DirectoryFixture['addDirectory'] = (owner, { directory, ...form } = {}) => {
    const common = {
      name: `d${(made += 1)}`,
      type: 'ldap',
      issuer: `ldaps://localhost:${slapd.tlsPort}`,
      client_id: slapd.reader.dn,
      client_secret: slapd.reader.password,
      allows_creation: true,
      ...form,
      directory: {
        authorities: slapd.authority,
        user_base: people,
        user_filter: '(objectClass=inetOrgPerson)',
        trusts_mail: true,
        ...directory,
      },
    }
    if (owner === 'acme') return fixture.as('ada', 'POST', '/orgs/acme/identity-providers', common)
    const { issuer, client_id: bindDN, client_secret: bindPassword, ...rest } = common
    const { protocol, hostname: host, port } = new URL(issuer.replace('ldap', 'http'))
    return fixture.as('admin', 'POST', '/accounts/admin/auths/new', {
      ...rest,
      type: 2,
      host,
      port: Number(port),
      securityProtocol: protocol === 'https:' ? 1 : 2,
      bindDN,
      bindPassword,
    })
  }
  const enter: DirectoryFixture['enter'] = (browser, id, state, username, password) =>
    browser.send('POST', `/user/oauth2/${id}/password`, { state, username, password })

  return {
    ...fixture,
    slapd,
    addDirectory,
    async connectDirectory(owner, form) {
      const answer = await addDirectory(owner, form)
      if (answer.status !== 201) throw new Error(`the directory was not added: ${answer.status} ${answer.text}`)
      return (answer.json as { readonly id: number }).id
    },
    enter,
    async signInAs(id, uid, password = `password of ${uid}`) {
      const browser = fixture.browser()
      const begun = await browser.begin(id)
      return { browser, answer: await enter(browser, id, stateOf(begun.json.url as string), uid, password) }
    },
    async compare() {
      const database = await openDatabase(fixture.service.databaseUrl)
      await database.query((k) => k('identity_providers').whereNotNull('next_check_at').update({ next_check_at: 1 }))
      await database.close()
      await runJob(fixture.service, 'identityProviders.compareDirectories')
    },
    async stop() {
      await fixture.stop()
      await slapd.stop()
    },
  }
}
