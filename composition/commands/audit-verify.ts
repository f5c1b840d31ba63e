import { makeHmacDigest } from '../../adapters/sql/audit/hmac-digest.ts'
import { makeSqlAuditLog } from '../../adapters/sql/audit/audit-log.ts'
import type { ChainVerdict } from '../../core/audit/verify-chain.ts'
import { verifyChain } from '../../core/audit/verify-chain.ts'
import type { CommandContext, CommonOptions, ExitCode } from '../command-context.ts'
import { configOf, printJson } from '../command-context.ts'
import { openFoundation } from '../foundation.ts'

type TenantVerdict = ChainVerdict & { readonly tenantId: number }

/** Checks every account's chain of the audit log. 1 when one of them was altered or cut. */
export const auditVerify = async (context: CommandContext, options: CommonOptions): Promise<ExitCode> => {
  const { settings } = await configOf(context, options)
  const { database, keyring } = await openFoundation(settings)
  try {
    const key = makeHmacDigest(keyring.auditKey.reveal())
    const verdicts: TenantVerdict[] = []
    for await (const chain of makeSqlAuditLog(database).chains()) {
      verdicts.push({ tenantId: chain.tenantId, ...(await verifyChain(key, chain)) })
    }
    const isWhole = verdicts.every(({ state }) => state === 'whole')
    if (options.json === true) printJson(context, { isWhole, chains: verdicts })
    else for (const verdict of verdicts) context.print(inWords(verdict))
    if (verdicts.length === 0) context.say('The audit log is empty.')
    return isWhole ? 0 : 1
  } finally {
    await database.close()
  }
}

const inWords = (verdict: TenantVerdict): string => {
  const owner = verdict.tenantId === 0 ? 'the site' : `account ${verdict.tenantId}`
  switch (verdict.state) {
    case 'whole':
      return `ok       ${owner}: ${verdict.rows} rows`
    case 'altered':
      return `altered  ${owner}: row ${verdict.brokenAt} does not follow from the row before it`
    case 'base-forged':
      return `altered  ${owner}: where the chain goes on after its retired rows was not written by this service`
    case 'cut':
      return `cut      ${owner}: rows are missing after the last of ${verdict.rows}`
  }
}
