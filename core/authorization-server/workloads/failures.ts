import { defineFailure } from '../../kernel/failure.ts'

export const FederatedCredentialMissing = defineFailure(
  'FederatedCredentialMissing',
  'NotFound',
  'The federated credential does not exist.',
)
export const FederatedCredentialRefused = defineFailure(
  'FederatedCredentialRefused',
  'Unprocessable',
  'A field of the federated credential is missing or not valid.',
)
export const FederatedCredentialChanged = defineFailure(
  'FederatedCredentialChanged',
  'StaleVersion',
  'The federated credential has another version than the request expects.',
)
