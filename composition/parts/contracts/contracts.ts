import { closeSync, fchmodSync, openSync, writeSync } from 'node:fs'
import { definedFields } from '../../../core/kernel/json.ts'
import type { ContractClusterId, ContractId } from '../../../core/contracts/types.ts'
import { systemClock } from '../../../adapters/system/system-clock.ts'
import type { IssuedLicense, Contract } from '../../../plugins/contracts/codecs.ts'
import { listAnyLicenses, revokeContract, revokeLicense } from '../../../plugins/contracts/administration.routes.ts'
import {
  getClusterStatus,
  listContractClusters,
  getContract,
  listContracts,
} from '../../../plugins/contracts/contracts.routes.ts'
import { issueLicense } from '../../../plugins/contracts/licenses.routes.ts'
import type { CommandContext, ExitCode } from '../../part/command-context.ts'
import { printJson } from '../../part/command-context.ts'
import type { ServerOptions } from '../../part/server-connection.ts'
import { onServer, told } from '../../part/server-connection.ts'
import { printable } from '../../part/command-context.ts'

export interface ContractOptions extends ServerOptions {
  readonly account?: string
}
export interface IssueOptions extends ContractOptions {
  readonly cluster: string
  readonly out?: string
}

export interface RevokeOptions extends ServerOptions {
  /** The serial number of the only license to revoke. */
  readonly license?: string
}

type ShownContract = (typeof Contract)['_A']

const dateOf = (seconds: number): string => new Date(seconds * 1000).toISOString().slice(0, 10)
const row = ({ id, state, start, end, product, name }: ShownContract): string =>
  `${String(id).padEnd(6)}  ${state.padEnd(9)}  ${dateOf(start)}  ${dateOf(end)}  ${product}  ${name}`

/** Shows the contracts of an account. */
export const contractsList = (context: CommandContext, options: ContractOptions): Promise<ExitCode> =>
  onServer(context, options, async ({ client }) => {
    const answer = await client.call(listContracts, { query: definedFields({ org: options.account }) })
    if (!answer.ok) return told(context, answer.error.message)
    const { items, total } = answer.value
    if (options.json === true) printJson(context, items)
    else if (items.length === 0) context.say('The account has no contracts.')
    else for (const contract of items) context.print(printable(row(contract)))
    if (total > items.length) context.say(`${items.length} of ${total} contracts are shown.`)
    return 0
  })

/** Returns the id of a contract; undefined if the text is none. */
const idOf = (context: CommandContext, text: string): ContractId | undefined => {
  if (/^[1-9][0-9]{0,14}$/.test(text)) return Number(text) as ContractId
  context.say(`The id of a contract is a number, not ${printable(text)}.`)
  return undefined
}

const shownLines = (contract: ShownContract): readonly string[] => [
  contract.name,
  `  id        ${contract.id}`,
  `  account   ${contract.orgOrUser}`,
  `  state     ${contract.state}`,
  `  from      ${new Date(contract.start * 1000).toISOString()}`,
  `  until     ${new Date(contract.end * 1000).toISOString()}`,
  `  product   ${contract.product}`,
  `  features  ${contract.features.join(', ')}`,
  `  offline   ${contract.allowOffline ? 'allowed' : 'not allowed'}`,
]

/** Shows one contract with its clusters. */
export const contractsShow = (context: CommandContext, options: ContractOptions, text: string): Promise<ExitCode> =>
  onServer(context, options, async ({ client }) => {
    const id = idOf(context, text)
    if (id === undefined) return 2
    const asked = { params: { id }, query: definedFields({ org: options.account }) }
    const contract = await client.call(getContract, asked)
    if (!contract.ok) return told(context, contract.error.message)
    const clusters = await client.call(listContractClusters, asked)
    if (!clusters.ok) return told(context, clusters.error.message)
    const { items, total } = clusters.value
    if (options.json === true) printJson(context, { ...contract.value, clusters: items })
    else
      for (const line of [
        ...shownLines(contract.value),
        ...items.map(({ cluster, displayName }) => `  cluster   ${cluster}  ${displayName}`),
      ])
        context.print(printable(line))
    if (total > items.length) context.say(`${items.length} of ${total} clusters are shown.`)
    return 0
  })

/** Writes a file that only its owner can read, also if it existed with another mode. */
const writePrivate = (file: string, text: string): void => {
  const descriptor = openSync(file, 'w', 0o600)
  try {
    fchmodSync(descriptor, 0o600)
    writeSync(descriptor, text)
  } finally {
    closeSync(descriptor)
  }
}

/** Issues the offline license of a bound cluster, as the text that a verifier reads. */
export const contractsIssue = (context: CommandContext, options: IssueOptions, text: string): Promise<ExitCode> =>
  onServer(context, options, async ({ client }) => {
    const id = idOf(context, text)
    if (id === undefined) return 2
    const org = definedFields({ org: options.account })
    const status = await client.call(getClusterStatus, {
      params: { clusterID: options.cluster },
      query: { ...org, contract: id },
    })
    if (!status.ok) return told(context, status.error.message)
    if (status.value.error !== '' || status.value.id === 0)
      return told(
        context,
        status.value.error === ''
          ? `The cluster is not bound to the contract ${id}, or the contract is not active.`
          : status.value.error,
      )
    const issued = await client.call(issueLicense, {
      params: { id, ccID: status.value.id as ContractClusterId },
      query: org,
    })
    if (!issued.ok) return told(context, issued.error.message)
    const pem = Buffer.from(issued.value.license).toString()
    if (options.out !== undefined) {
      writePrivate(options.out, pem)
      context.say(
        `The license is in ${options.out}. For the cluster: kubectl create secret generic license ` +
          `--from-file=license.pem=${options.out}`,
      )
    } else if (options.json === true) printJson(context, { contract: issued.value.contract, license: pem })
    else context.print(pem.trimEnd())
    return 0
  })

type ShownLicense = (typeof IssuedLicense)['_A']
const stateOf = ({ revokedAt, notAfter }: ShownLicense, now: Date): string =>
  revokedAt !== undefined ? 'revoked' : notAfter.getTime() <= now.getTime() ? 'expired' : 'valid'
const licenseRow = (license: ShownLicense, now: Date): string =>
  `${license.serial.padEnd(39)}  ${stateOf(license, now).padEnd(7)}  ${license.kind.padEnd(7)}  ` +
  `${license.notAfter.toISOString().slice(0, 10)}  ${license.cluster}  ${license.issuedBy}`

/** Shows the licenses of a contract, the newest first; for site admins. */
export const contractsLicenses = (context: CommandContext, options: ServerOptions, text: string): Promise<ExitCode> =>
  onServer(context, options, async ({ client }) => {
    const id = idOf(context, text)
    if (id === undefined) return 2
    const answer = await client.call(listAnyLicenses, { params: { id } })
    if (!answer.ok) return told(context, answer.error.message)
    const { items, total } = answer.value
    const now = systemClock.now()
    if (options.json === true) printJson(context, items)
    else if (items.length === 0) context.say('The contract has no licenses.')
    else for (const license of items) context.print(printable(licenseRow(license, now)))
    if (total > items.length) context.say(`${items.length} of ${total} licenses are shown.`)
    return 0
  })

/** Revokes a contract with its licenses, or one of its licenses; for site admins. */
export const contractsRevoke = (context: CommandContext, options: RevokeOptions, text: string): Promise<ExitCode> =>
  onServer(context, options, async ({ client }) => {
    const id = idOf(context, text)
    if (id === undefined) return 2
    const { license: serial } = options
    if (serial !== undefined) {
      const answer = await client.call(revokeLicense, { params: { id, serial } })
      if (!answer.ok) return told(context, answer.error.message)
      if (options.json === true) printJson(context, { id, license: serial, revoked: true })
      else context.print(`The license ${serial} is revoked.`)
      return 0
    }
    const answer = await client.call(revokeContract, { params: { id } })
    if (!answer.ok) return told(context, answer.error.message)
    if (options.json === true) printJson(context, { id, revoked: true })
    else context.print(`The contract ${id} and its licenses are revoked.`)
    return 0
  })
