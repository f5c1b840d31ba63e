import { stat } from 'node:fs/promises'
import type { InstanceKeys } from '../../core/kernel/instances.ts'
import { readKeyringFile } from './keyring-file.ts'
import type { Keyring, KeyWrapper } from './keyring.ts'

/** The key ring of a process that runs while the file is changed. */
export interface KeyringInUse extends Keyring {
  /** Reads the file again if it was changed, and returns the keys that this process has then. */
  refresh(): Promise<KeysInUse>
}

interface KeysInUse extends InstanceKeys {
  /** Why the file cannot be used as it is now. The keys of before are kept. */
  readonly trouble: string | undefined
}

/** Never changes where there is no file. */
export const fixedKeyring = (keyring: Keyring): KeyringInUse => ({
  ...keyring,
  refresh: async () => ({
    sealingKey: keyring.wrapper.currentKeyId,
    newestKey: keyring.keyIds.at(-1),
    trouble: undefined,
  }),
})

/**
 * Follows the file of a key ring: it is read again before a value is sealed, if it was changed, and when a value names
 * a key that is not known. A file that is gone, that is no key ring, or that is the key ring of other data changes
 * nothing.
 */
export const followKeyringFile = (path: string, first: Keyring): KeyringInUse => {
  let keyring = first
  let trouble: string | undefined
  let seen = ''
  const read = (version: string): void => {
    seen = version
    try {
      const found = readKeyringFile(path)
      trouble = found === undefined ? `The key ring ${path} is not there.` : whyOther(path, first, found)
      if (found !== undefined && trouble === undefined) keyring = found
    } catch (error) {
      trouble = (error as Error).message
    }
  }
  const refresh = async (): Promise<void> => {
    const version = await versionOf(path)
    if (version !== seen) read(version)
  }
  const wrapper: KeyWrapper = {
    get currentKeyId() {
      return keyring.wrapper.currentKeyId
    },
    wrap: async (dataKey) => {
      await refresh()
      return keyring.wrapper.wrap(dataKey)
    },
    unwrap: async (keyId, wrapped) => {
      if (!keyring.keyIds.includes(keyId)) await refresh()
      return keyring.wrapper.unwrap(keyId, wrapped)
    },
  }
  return {
    wrapper,
    get keyIds() {
      return keyring.keyIds
    },
    auditKey: first.auditKey,
    csrfKey: first.csrfKey,
    refresh: async () => {
      await refresh()
      return { sealingKey: keyring.wrapper.currentKeyId, newestKey: keyring.keyIds.at(-1), trouble }
    },
  }
}

const whyOther = (path: string, first: Keyring, found: Keyring): string | undefined =>
  Buffer.compare(first.auditKey.reveal(), found.auditKey.reveal()) === 0
    ? undefined
    : `The key ring ${path} was replaced by that of other data.`

/** Differs for each content of the file: a change makes another file, or another time. */
const versionOf = async (path: string): Promise<string> => {
  try {
    const { ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true })
    return [ino, size, mtimeNs, ctimeNs].join()
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'unknown'
  }
}
