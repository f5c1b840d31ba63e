import { defineFailure } from '../kernel/failure.ts'

export const OrganizationMissing = defineFailure(
  'OrganizationMissing',
  'NotFound',
  'The organization does not exist, or the caller may not see it.',
)
export const OrganizationNameRefused = defineFailure(
  'OrganizationNameRefused',
  'Unprocessable',
  'The name is reserved, or it has characters that are not accepted.',
)
export const OrganizationFieldRefused = defineFailure(
  'OrganizationFieldRefused',
  'Unprocessable',
  'A field of the organization is not valid.',
)
export const OrganizationCreationDenied = defineFailure(
  'OrganizationCreationDenied',
  'Forbidden',
  'The caller may not create organizations.',
)
/** The organization has an owner, who may delete it. */
export const OrganizationHasOwner = defineFailure('OrganizationHasOwner', 'Conflict', 'The organization has an owner.')
export const OrganizationInUse = defineFailure(
  'OrganizationInUse',
  'Conflict',
  'The organization owns things that must be removed first.',
)
/** The row has changed since the version that the caller named. */
export const OrganizationChanged = defineFailure(
  'OrganizationChanged',
  'StaleVersion',
  'The organization has changed since it was read.',
)

export const TeamMissing = defineFailure(
  'TeamMissing',
  'NotFound',
  'The team does not exist, or the caller may not see it.',
)
export const TeamNameRefused = defineFailure(
  'TeamNameRefused',
  'Unprocessable',
  'The name of the team is reserved, or it has characters that are not accepted.',
)
export const TeamTypeUnknown = defineFailure('TeamTypeUnknown', 'Invalid', 'The type of the team does not exist.')
export const TeamRolesRefused = defineFailure(
  'TeamRolesRefused',
  'Invalid',
  'A role does not exist in the organization, or the team has too many.',
)
export const TeamLevelRefused = defineFailure(
  'TeamLevelRefused',
  'Unprocessable',
  'Only the team Owners can have the permission `owner`.',
)
/** The team Owners cannot be deleted, renamed, or given a lower level. */
export const OwnersTeamFixed = defineFailure(
  'OwnersTeamFixed',
  'Conflict',
  'The team Owners cannot be renamed, lowered or deleted.',
)
export const TeamChanged = defineFailure('TeamChanged', 'StaleVersion', 'The team has changed since it was read.')

export const MemberMissing = defineFailure('MemberMissing', 'NotFound', 'The user does not exist, or is not a member.')
export const AccountNotEligible = defineFailure(
  'AccountNotEligible',
  'Unprocessable',
  'The account is not active, or is not a user, so it cannot be a member.',
)
export const LastOwner = defineFailure('LastOwner', 'Conflict', 'An organization must have at least one active owner.')
export const AlreadyTeamMember = defineFailure(
  'AlreadyTeamMember',
  'Conflict',
  'The user is already a member of the team.',
)
/** The change would give, or take from another user, more than the caller holds. */
export const BeyondOwnRights = defineFailure(
  'BeyondOwnRights',
  'Forbidden',
  'The caller cannot give more rights than the caller has.',
)
export const MembershipActionUnknown = defineFailure(
  'MembershipActionUnknown',
  'Invalid',
  'The action is not one of join, leave, remove and add, or the caller may not do it for this user.',
)
export const OrganizationTokenMissing = defineFailure(
  'OrganizationTokenMissing',
  'NotFound',
  'The token does not exist in the organization.',
)

export const InvitationMissing = defineFailure(
  'InvitationMissing',
  'NotFound',
  'The invitation does not exist in the organization.',
)
export const InvitationRefused = defineFailure(
  'InvitationRefused',
  'Unprocessable',
  'A field of the invitation is not valid, or the organization has too many open invitations.',
)
/** The invited or accepting user is already a member. */
export const AlreadyMember = defineFailure('AlreadyMember', 'Conflict', 'The user is already a member.')
/**
 * The invitation is expired, withdrawn or used, or its inviter may no longer give it. The failure does not disclose
 * which.
 */
export const InvitationGone = defineFailure(
  'InvitationGone',
  'Gone',
  'The invitation has expired, or was withdrawn or used.',
)
/** The invitation is for another address. */
export const InvitationForAnother = defineFailure(
  'InvitationForAnother',
  'Forbidden',
  'The invitation was sent to an address that the caller has not confirmed.',
)

/** The daily limit of invitation mails for a user or an address is reached. */
export const TooManyInvitations = defineFailure(
  'TooManyInvitations',
  'Backoff',
  'The organization sent too many invitations today; try again after `Retry-After` seconds.',
)

export const PolicyRefused = defineFailure(
  'PolicyRefused',
  'Unprocessable',
  'A value of the policy is not valid, or the caller does not meet the demand.',
)
/** The policy has changed since the version that the caller named. */
export const PolicyChanged = defineFailure('PolicyChanged', 'StaleVersion', 'The policy has changed since it was read.')

export const RobotMissing = defineFailure(
  'RobotMissing',
  'NotFound',
  'The robot account does not exist in the organization.',
)
export const RobotRefused = defineFailure(
  'RobotRefused',
  'Unprocessable',
  'A field of the robot account is not valid, or the organization has too many of them.',
)
/** The robot account has changed since the version that the caller named. */
export const RobotChanged = defineFailure(
  'RobotChanged',
  'StaleVersion',
  'The robot account has changed since it was read.',
)
export const RobotTokenMissing = defineFailure(
  'RobotTokenMissing',
  'NotFound',
  'The token of the robot account does not exist.',
)
