import { openKeyring } from '../../../adapters/security/keyring.ts'
import type { KeyringContent } from '../../../adapters/security/keyring.ts'
import { readKeyringContent } from '../../../adapters/security/keyring-file.ts'
import { makeSqlSealedValues } from '../../../adapters/sql/kernel/sealed-values.ts'
import type { SqlDatabase } from '../../../adapters/sql/kit/statement.ts'
import { systemClock } from '../../../adapters/system/system-clock.ts'
import type { FrameSettings } from '../../config/frame-settings.ts'
import type { AnyPart } from '../../part.ts'
import { isInUse, isKeyringOf, keyringLost, keyringOfAnother } from '../../service/foundation.ts'
import { countKeyUse, faultsOf, sealedColumnsOf } from '../keys/key-use.ts'
import type { Finding } from './finding.ts'
import { ok, problem, warning } from './finding.ts'

const subject = 'key ring'

/** Checks the file, and tells how old the current key is. */
export const checkKeyring = ({ keyring: path }: Pick<FrameSettings, 'keyring'>): Finding => {
  try {
    const content = readKeyringContent(path)
    if (content === undefined)
      return ok(
        subject,
        `${path} does not exist yet; the first start makes it. Back it up: sealed credentials cannot be ` +
          'read without it.',
      )
    const { keys, currentKeyId } = content
    return ok(
      subject,
      `${path} holds ${keys.length} ${keys.length === 1 ? 'key' : 'keys'}; the current one is ${currentKeyId}, ` +
        `made ${ageOf(content)}.`,
    )
  } catch (error) {
    return problem(subject, (error as Error).message)
  }
}

const ageOf = ({ keys, currentKeyId }: KeyringContent): string => {
  const made = Date.parse(keys.find(({ id }) => id === currentKeyId)?.createdAt ?? '')
  const days = Math.floor((systemClock.now().getTime() - made) / 86_400_000)
  if (!(days >= 0)) return 'at an unknown time'
  return days === 0 ? 'today' : `${days} ${days === 1 ? 'day' : 'days'} ago`
}

/** Reports a lost key ring, and that of another database. Only the database shows which key ring must exist. */
export const wrongKeys = async (database: SqlDatabase, path: string): Promise<readonly Finding[]> => {
  if (!(await isInUse(database))) return []
  const content = readableContent(path)
  if (content === 'unreadable') return []
  if (content === undefined) return [problem(subject, keyringLost(path))]
  return (await isKeyringOf(database, openKeyring(content))) ? [] : [problem(subject, keyringOfAnother(path))]
}

/** Reports old keys that still seal values, and values whose key is lost. The schema must be up to date. */
export const usedKeys = async (
  database: SqlDatabase,
  path: string,
  parts: readonly Pick<AnyPart, 'sealedColumns'>[],
): Promise<readonly Finding[]> => {
  const content = readableContent(path)
  if (content === undefined || content === 'unreadable') return []
  const ids = content.keys.map(({ id }) => id)
  const use = await countKeyUse(makeSqlSealedValues(database), sealedColumnsOf(parts), ids)
  const old = ids.filter((id) => id !== content.currentKeyId && use.byKey.has(id))
  return [
    ...faultsOf(use).map((fault) => problem('sealed', `${fault} See: moorage keys status`)),
    ...old.map((id) =>
      warning('sealed', `The old key ${id} still seals ${use.byKey.get(id)} values. Run: moorage keys rotate`),
    ),
  ]
}

/** Returns undefined if the file does not exist. A file that is no key ring is reported by another check. */
const readableContent = (path: string): KeyringContent | 'unreadable' | undefined => {
  try {
    return readKeyringContent(path)
  } catch {
    return 'unreadable'
  }
}
