import { AuthorityStorePort, LicenseStorePort } from '../../core/contracts/ports.ts'
import type { ContractId } from '../../core/contracts/types.ts'
import type { AccountId } from '../../core/kernel/ids.ts'
import type { SendOptions, ServiceAnswer } from './send-json.ts'
import type { TestService } from './service.ts'

/** A contract of an account with a bound cluster and a document. */
export interface PlantedContract {
  readonly contractId: number
  readonly boundClusterId: number
  /** The serial number of a license. No certificate has it. */
  readonly serial: string
  /** A signed link to the document: a path with its query. */
  readonly documentLink: string
}

const pdf = Buffer.from('%PDF-1.7\n%%EOF\n')

/** The terms of a contract of an account, in force since yesterday and for 90 days, as a site admin sends them. */
export const contractTerms = (owner: string, name: string, restrictions: object) => {
  const now = Math.floor(Date.now() / 1000)
  return {
    orgOrUser: owner,
    name,
    products: ['database'],
    features: ['db-basic', 'db-backup'],
    start: now - 86_400,
    end: now + 90 * 86_400,
    allowOffline: true,
    enableClientBilling: true,
    restrictions: JSON.stringify(restrictions),
  }
}

/**
 * Makes a contract as a site admin does, and records a license. `text` stands in everything that the contract tells.
 */
export const plantContract = async (
  service: TestService,
  owner: string,
  clusterUid: string,
  text: string,
): Promise<PlantedContract> => {
  const ask = async (method: string, path: string, body?: SendOptions['body']): Promise<ServiceAnswer> => {
    const answer = await service.send(method, `/api/v1/contracts${path}`, {
      token: service.adminToken,
      ...(body === undefined ? {} : { body }),
    })
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`)
    return answer
  }
  const created = (await ask('POST', '', contractTerms(owner, text, { text }))).json as readonly {
    readonly id: number
    readonly uid: number
  }[]
  const contractId = created[0]?.id ?? 0
  const bound = (
    await ask('POST', `/${contractId}/clusters`, [{ cluster: clusterUid, displayName: text, tags: ['eu'] }])
  ).json as readonly { readonly id: number }[]
  await ask('PUT', `/${contractId}/document`, { document: pdf.toString('base64'), fileName: `${text}.pdf` })
  const { pathname, search } = new URL((await ask('GET', `/${contractId}/document`)).json as unknown as string)
  const serial = String(10 ** 15 + contractId)
  const [authority] = await service.running.container.resolve(AuthorityStorePort).list()
  const ownerId = (created[0]?.uid ?? 0) as AccountId
  await service.running.container.resolve(LicenseStorePort).insert({
    serial,
    contractId: contractId as ContractId,
    ownerId,
    clusterUid,
    kind: 'offline',
    authorityId: authority?.id ?? 0,
    notBefore: new Date(0),
    notAfter: new Date(1),
    contentKey: '',
    certificatePem: text,
    issuedAt: new Date(0),
    issuedBy: text,
    revokedAt: undefined,
  })
  return { contractId, boundClusterId: bound[0]?.id ?? 0, serial, documentLink: `${pathname}${search}` }
}
