import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from 'ldapts'
import { makeServerCertificate } from '../server-certificate.ts'
import { startProcess, untilReady } from './background-process.ts'
import { cached } from './cache-folder.ts'
import { unpackDebianPackages } from './debian-package.ts'
import { sayOnStderr, type Say } from './progress.ts'
import { reservedPort } from './reserved-port.ts'
import { createRunFolder, removeRunFolder } from './run-folder.ts'

/** The server, and the libraries of it that a small machine lacks. */
const packages = ['slapd', 'libltdl7', 'libodbc2', 'libwrap0', 'libargon2-1', 'libldap-2.5-0', 'libsasl2-2']

/** The folder with slapd of Debian, which is downloaded once and not installed. */
export const findSlapd = (say: Say = sayOnStderr): Promise<string> =>
  cached('slapd-debian', (folder) => unpackDebianPackages(packages, folder, say))

export const suffix = 'dc=corp,dc=test'
const rootDn = `cn=admin,${suffix}`
const rootPassword = 'the password of the administrator'

/** Attributes of Active Directory, by their own numbers. */
const activeDirectory = `
attributetype ( 1.2.840.113556.1.4.2 NAME 'objectGUID' EQUALITY octetStringMatch
  SYNTAX 1.3.6.1.4.1.1466.115.121.1.40 SINGLE-VALUE )
attributetype ( 1.2.840.113556.1.4.8 NAME 'userAccountControl' EQUALITY integerMatch
  SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 SINGLE-VALUE )
objectclass ( 1.2.840.113556.1.5.9 NAME 'user' SUP top AUXILIARY MAY ( objectGUID $ userAccountControl ) )
`

const settings = (folder: string, run: string): string => `
include ${folder}/etc/ldap/schema/core.schema
include ${folder}/etc/ldap/schema/cosine.schema
include ${folder}/etc/ldap/schema/inetorgperson.schema
include ${run}/active-directory.schema
modulepath ${folder}/usr/lib/ldap
moduleload back_mdb
moduleload memberof
moduleload ppolicy
pidfile ${run}/slapd.pid
TLSCertificateFile ${run}/server.crt
TLSCertificateKeyFile ${run}/server.key
sizelimit 50
database mdb
suffix "${suffix}"
rootdn "${rootDn}"
rootpw "${rootPassword}"
directory ${run}/data
overlay memberof
overlay ppolicy
limits dn.exact="cn=reader,${suffix}" size.prtotal=unlimited
access to attrs=userPassword by anonymous auth by * none
access to * by dn.exact="cn=reader,${suffix}" read by * auth
`

type Attributes = Record<string, string | string[]>

/** A directory that is running. */
export interface Slapd {
  readonly port: number
  readonly tlsPort: number
  readonly authority: string
  readonly reader: { readonly dn: string; readonly password: string }
  /** A client that is bound as the administrator. */
  readonly admin: Client
  addPerson(uid: string, attributes?: Attributes): Promise<string>
  addGroup(cn: string, members: readonly string[]): Promise<string>
  stop(): Promise<void>
}

const reader = { dn: `cn=reader,${suffix}`, password: 'the password of the reader' }

/** Starts slapd with two empty branches, people and groups, and an entry that may read them. Takes half a second. */
export const startSlapd = async (say: Say = sayOnStderr): Promise<Slapd> => {
  const [folder, port, tlsPort] = [await findSlapd(say), await reservedPort(), await reservedPort()]
  const { certificatePem, keyPem } = await makeServerCertificate('slapd')
  const run = createRunFolder('slapd')
  mkdirSync(join(run, 'data'))
  writeFileSync(join(run, 'active-directory.schema'), activeDirectory)
  writeFileSync(join(run, 'server.crt'), certificatePem)
  writeFileSync(join(run, 'server.key'), keyPem)
  writeFileSync(join(run, 'slapd.conf'), settings(folder, run))
  const server = startProcess({
    name: 'slapd',
    file: join(folder, 'usr/sbin/slapd'),
    folder: run,
    arguments: [
      '-d',
      '0',
      '-f',
      join(run, 'slapd.conf'),
      '-h',
      `ldap://127.0.0.1:${port}/ ldaps://127.0.0.1:${tlsPort}/`,
    ],
    environment: { ...process.env, LD_LIBRARY_PATH: join(folder, 'usr/lib/x86_64-linux-gnu') },
  })
  const admin = new Client({ url: `ldap://127.0.0.1:${port}`, autoRebind: true })
  const isReady = async (): Promise<boolean> => {
    await admin.bind(rootDn, rootPassword)
    return true
  }
  await untilReady(server, isReady, 30_000)
  await admin.add(suffix, { objectClass: ['dcObject', 'organization'], dc: 'corp', o: 'Corp' })
  for (const ou of ['people', 'groups'])
    await admin.add(`ou=${ou},${suffix}`, { objectClass: 'organizationalUnit', ou })
  await admin.add(reader.dn, {
    objectClass: ['organizationalRole', 'simpleSecurityObject'],
    cn: 'reader',
    userPassword: reader.password,
  })
  return {
    port,
    tlsPort,
    authority: certificatePem,
    reader,
    admin,
    async addPerson(uid, attributes = {}) {
      const dn = `uid=${uid},ou=people,${suffix}`
      await admin.add(dn, {
        objectClass: ['inetOrgPerson'],
        uid,
        cn: uid,
        sn: uid,
        mail: `${uid}@corp.test`,
        userPassword: `password of ${uid}`,
        ...attributes,
      })
      return dn
    },
    async addGroup(cn, members) {
      const dn = `cn=${cn},ou=groups,${suffix}`
      await admin.add(dn, { objectClass: 'groupOfNames', cn, member: [...members] })
      return dn
    },
    async stop() {
      await admin.unbind()
      await server.stop()
      removeRunFolder(run)
    },
  }
}
