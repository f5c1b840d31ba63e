import { right } from 'fp-ts/lib/Either.js'
import { IdentityStoresPort, IdentityUnitOfWorkPort, TokenDigestPort } from '../../../core/identity/ports.ts'
import type { CreatedToken } from '../../../core/identity/tokens/access-tokens.ts'
import { makeDeleteToken, makeDeleteTokens, makeRotateToken } from '../../../core/identity/tokens/access-tokens.ts'
import { makeIssueCustomToken } from '../../../core/identity/tokens/delegated-tokens.ts'
import {
  makeCreateOwnToken,
  makeCreateTokenUntil,
  makeDeleteOwnToken,
  makeListOwnTokens,
} from '../../../core/identity/tokens/own-tokens.ts'
import { CustomTokenIssuerPort } from '../../../core/identity/tokens/ports.ts'
import { ClockPort } from '../../../core/kernel/clock.ts'
import { EntropyPort } from '../../../core/kernel/secret.ts'
import { defineGroup } from '../../kit/group.ts'
import { handle } from '../../kit/handle.ts'
import { createdWire, settingsTokenWire, tokenWire } from './codecs.ts'
import {
  createSettingsToken,
  createToken,
  deleteSettingsToken,
  deleteSettingsTokens,
  deleteToken,
  getExtIdpToken,
  listSettingsTokens,
  listTokens,
  rotateSettingsToken,
} from './tokens.routes.ts'

export const tokenGroup = defineGroup({
  needs: {
    clock: ClockPort,
    digest: TokenDigestPort,
    entropy: EntropyPort,
    stores: IdentityStoresPort,
    unitOfWork: IdentityUnitOfWorkPort,
  },
  routes: (given) => {
    const { stores, clock } = given
    const createdSettingsTokenWire = ({ record, value }: CreatedToken) =>
      settingsTokenWire(record, clock.now(), value.reveal())
    return [
      handle(listTokens, makeListOwnTokens(given), {
        input: ({ params, page }) => ({ login: params.username, page }),
        reply: (token) => tokenWire(token),
      }),
      handle(createToken, makeCreateOwnToken(given), {
        input: ({ params, body }) => ({
          login: params.username,
          name: body.name,
          scopes: body.scopes,
          expiresAt: body.expires_at,
          org: body.org,
        }),
        reply: createdWire,
      }),
      handle(deleteToken, makeDeleteOwnToken(given), {
        input: ({ params }) => ({ login: params.username, idOrName: params.id }),
      }),
      handle(
        listSettingsTokens,
        async ({ principal }, { page }) => right(await stores.tokens.list(principal.userId, page)),
        {
          reply: (token) => settingsTokenWire(token, clock.now()),
        },
      ),
      handle(createSettingsToken, makeCreateTokenUntil(given), {
        input: ({ body }) => ({
          name: body.name,
          scopes: body.scopes,
          expiresAtSeconds: body.expTime ?? 0,
          org: body.org,
        }),
        reply: createdSettingsTokenWire,
      }),
      handle(rotateSettingsToken, makeRotateToken(given), {
        input: ({ params }) => params.id,
        reply: createdSettingsTokenWire,
      }),
      handle(deleteSettingsToken, makeDeleteToken(given), { input: ({ params }) => params.id }),
      handle(deleteSettingsTokens, makeDeleteTokens(given), {
        input: ({ body }) => body.tokenIDs,
        reply: (removed) => ({ message: `Deleted ${removed} access token${removed === 1 ? '' : 's'}.` }),
      }),
    ]
  },
})

export const customTokenGroup = defineGroup({
  needs: {
    clock: ClockPort,
    issuer: CustomTokenIssuerPort,
    stores: IdentityStoresPort,
    unitOfWork: IdentityUnitOfWorkPort,
  },
  routes: (given) => [
    handle(getExtIdpToken, makeIssueCustomToken(given), { reply: (token) => ({ customToken: token.reveal() }) }),
  ],
})
