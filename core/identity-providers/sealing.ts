import type { SealedPlace, Secret, SecretBox } from '../kernel/secret.ts'
import type { ProviderOwner } from './ports.ts'
import type {
  DirectoryClient,
  ExternalAccount,
  ExternalSession,
  Provider,
  ProviderClient,
  SignInAttempt,
} from './types.ts'

const secretPlace = (owner: ProviderOwner, ref: string): SealedPlace => ({
  table: 'identity_providers',
  column: 'sealed_secret',
  tenantId: owner ?? 0,
  rowRef: ref,
})

export const sealClientSecret = (
  box: SecretBox,
  owner: ProviderOwner,
  ref: string,
  plain: Secret,
): Promise<Uint8Array> => box.seal(plain, secretPlace(owner, ref))

const openSecret = async (box: SecretBox, { sealedSecret, orgId, ref }: Provider): Promise<Secret | undefined> =>
  sealedSecret === undefined ? undefined : box.open(sealedSecret, secretPlace(orgId, ref))

/** Returns the function that opens the secret of a provider, for requests to it. */
export const makeClientOf =
  (box: SecretBox) =>
  async (provider: Provider): Promise<ProviderClient> => ({
    providerId: provider.id,
    version: provider.version,
    issuer: provider.issuer,
    clientId: provider.clientId,
    secret: await openSecret(box, provider),
  })

/** Returns the function that opens the password of a directory, for searches; undefined if it is no directory. */
export const makeDirectoryOf =
  (box: SecretBox) =>
  async (provider: Provider): Promise<DirectoryClient | undefined> =>
    provider.directory && {
      address: provider.issuer,
      bindDn: provider.clientId,
      secret: await openSecret(box, provider),
      groupsAttribute: provider.options.groupsClaim,
      options: provider.directory,
    }

/** Returns where the refresh token of an account is sealed. */
export const refreshTokenPlace = ({ userId, ref }: Pick<ExternalAccount, 'ref' | 'userId'>): SealedPlace => ({
  table: 'external_accounts',
  column: 'sealed_refresh_token',
  tenantId: userId,
  rowRef: ref,
})

/** Returns where the ID token of a session is sealed. */
export const idTokenPlace = ({ accountId, ref }: Pick<ExternalSession, 'accountId' | 'ref'>): SealedPlace => ({
  table: 'external_sessions',
  column: 'sealed_id_token',
  tenantId: accountId,
  rowRef: ref,
})

/** Returns where the secrets of a sign-in are sealed. */
export const attemptPlace = ({ providerId, ref }: Pick<SignInAttempt, 'providerId' | 'ref'>): SealedPlace => ({
  table: 'sign_in_attempts',
  column: 'sealed',
  tenantId: providerId,
  rowRef: ref,
})
