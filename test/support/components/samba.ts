import { randomInt } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { makeServerCertificate } from '../server-certificate.ts'
import { startProcess, untilReady } from './background-process.ts'
import { cached } from './cache-folder.ts'
import { installDebianPackages } from './debian-package.ts'
import { sayOnStderr, withProgress, type Say } from './progress.ts'
import { findExecutable, mustRun } from './run-command.ts'
import { createRunFolder, removeRunFolder } from './run-folder.ts'

const packages = 'samba,samba-ad-dc,samba-ad-provision,samba-dsdb-modules,python3-samba,winbind,ldb-tools'

/** The folder with a small Debian that has Samba: its programs and modules know their own paths. It needs root. */
const findSamba = (say: Say): Promise<string> =>
  cached('samba-bookworm', async (making) => {
    if (findExecutable('mmdebstrap') === undefined) await installDebianPackages(['mmdebstrap'], say)
    const mmdebstrap = findExecutable('mmdebstrap')
    if (mmdebstrap === undefined)
      throw new Error('there is no mmdebstrap, or leave these tests out with --without samba')
    const words = ['--mode=root', '--variant=essential', `--include=${packages}`, 'bookworm', join(making, 'root')]
    await withProgress(say, 'installing Samba into a folder', () => mustRun(mmdebstrap, words))
  })

/** A domain controller that is running. */
export interface DomainController {
  /** Of loopback, and its own: the ports of LDAP cannot be chosen. */
  readonly address: string
  readonly authority: string
  /** Runs samba-tool. */
  tool(...words: readonly string[]): Promise<void>
  stop(): Promise<void>
}

export const suffix = 'DC=corp,DC=test'

/** Starts a domain controller of the domain CORP. It takes some ten seconds. */
export const startDomainController = async (say: Say = sayOnStderr): Promise<DomainController> => {
  const root = join(await findSamba(say), 'root')
  const name = `/domain-${process.pid}`
  const [folder, run] = [join(root, name), createRunFolder('samba')]
  await mkdir(folder)
  // A certificate is kept for each of them.
  const host = randomInt(1, 17)
  const address = `127.77.0.${host}`
  const chroot = findExecutable('chroot', ['/usr/sbin']) ?? 'chroot'
  const inRoot = (...words: readonly string[]) => mustRun(chroot, [root, ...words])
  const option = (text: string): string => `--option=${text}`
  await withProgress(say, 'provisioning the domain', () =>
    inRoot(
      'samba-tool',
      'domain',
      'provision',
      `--targetdir=${name}`,
      '--realm=CORP.TEST',
      '--domain=CORP',
      '--host-name=dc',
      `--host-ip=${address}`,
      '--dns-backend=NONE',
      '--adminpass=Pa.ssw0rd-of-admin',
      option(`interfaces=${address}/8`),
      option('bind interfaces only=yes'),
    ),
  )
  const { certificatePem, keyPem } = await makeServerCertificate(`samba-${host}`, `IP:${address}`)
  for (const [file, text] of [
    ['cert.pem', certificatePem],
    ['key.pem', keyPem],
    ['ca.pem', certificatePem],
  ] as const)
    writeFileSync(join(folder, file), text, { mode: 0o600 })
  const file = join(folder, 'etc/smb.conf')
  const tls = `tls certfile = ${name}/cert.pem\ntls keyfile = ${name}/key.pem\ntls cafile = ${name}/ca.pem`
  const own = readFileSync(file, 'utf8').replace(/.*server services.*\n/, '')
  writeFileSync(file, own.replace('[global]', `[global]\nserver services = ldap, cldap\n${tls}`))
  const configuration = `--configfile=${name}/etc/smb.conf`
  const server = startProcess({
    name: 'samba',
    file: chroot,
    folder: run,
    arguments: [root, 'samba', '--foreground', '--no-process-group', configuration, option(`comment=${run}`)],
  })
  await withProgress(say, 'starting Samba', () => untilReady(server, () => isOpen(address), 60_000))
  return {
    address,
    authority: certificatePem,
    tool: async (...words) => void (await inRoot('samba-tool', ...words, configuration)),
    async stop() {
      await server.stop()
      removeRunFolder(run)
      await rm(folder, { recursive: true, force: true })
    },
  }
}

const isOpen = (host: string): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ port: 636, host })
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
