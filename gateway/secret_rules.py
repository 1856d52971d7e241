"""The table of what a credential looks like: our own, written from what the vendors document of their formats.

Rule 1: a pattern is linear for any engine: bounded or single repeats, no look-around, no back-reference (RE2's dialect).
Rule 2: the first group that took part is the secret; without groups it is the whole match.
Rule 3: an earlier row names the kind where two rows find the same place.
Rule 4: no example stands here: a file of examples is a file of findings.
"""

# ruff: noqa: RUF001  (secrets are told in many languages)

import re
from collections.abc import Callable
from typing import Literal, TypeAlias

import msgspec

from gateway import secret_checks as check
from gateway.secret_checks import Found, Range

View: TypeAlias = Literal["token", "text", "prose"]
"""Where a rule looks. `token`: the text, its lines joined, and inside base64; `text`: the text; `prose`: it in lower case."""


def compile_rule(pattern: str) -> re.Pattern[str]:
    """The one place that knows the engine."""
    return re.compile(pattern, re.ASCII)


class Rule(msgspec.Struct, frozen=True):
    """A kind of secret: it is looked for only where one of the keywords (lower case; none = always) occurs."""

    kind: str
    view: View
    keywords: tuple[str, ...]
    pattern: re.Pattern[str]
    check: Callable[[Found], Range | None] | None = None


def _token(kind: str, keywords: str, pattern: str, checked: Callable[[Found], Range | None] | None = None) -> Rule:
    return Rule(kind, "token", tuple(keywords.split()), compile_rule(pattern), checked)


def _text(kind: str, keywords: str, pattern: str, checked: Callable[[Found], Range | None] | None = None) -> Rule:
    return Rule(kind, "text", tuple(keywords.split()), compile_rule(pattern), checked)


def _prose(kind: str, keywords: str, pattern: str, checked: Callable[[Found], Range | None] | None = None) -> Rule:
    return Rule(kind, "prose", tuple(keywords.split()), compile_rule(pattern), checked)


_TOKENS = (
    _text("private_key", "private", r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----", check.pem_block),
    _token("age_secret_key", "age-secret-key-", r"\bAGE-SECRET-KEY-1[0-9A-Z]{50,60}"),
    _token("aws_access_key", "akia asia abia acca", r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b"),
    _text(
        "aws_secret_key",
        "secret aws",
        r"(?i:secret[_ -]?(?:access[_ -]?)?key|aws[_ -]?secret)(?i:[ a-z]{0,20})[\"' ]{0,3}[:= ][=:>\"' ]{0,6}([A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|$)",
        check.random_token,
    ),
    _token("github_token", "ghp_ gho_ ghu_ ghs_ ghr_", r"\bgh[pousr]_[A-Za-z0-9]{30,255}"),
    _token("github_token", "github_pat_", r"\bgithub_pat_[A-Za-z0-9_]{30,255}"),
    _token(
        "gitlab_token",
        "gl",
        r"\bgl(?:pat|dt|rt|rtr|cbt|ptt|ft|imt|agent|soat|oas|ffct)-[A-Za-z0-9_.-]{20,255}",
        check.digits_inside,
    ),
    _token("slack_token", "xox", r"\bxox[abcdeoprs](?:\.xox[bp])?-[A-Za-z0-9-]{10,255}", check.digits_inside),
    _token("slack_token", "xapp-", r"\bxapp-[0-9]-[A-Za-z0-9-]{20,255}"),
    _token(
        "slack_webhook", "hooks.slack", r"\bhooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9/_-]{20,255})"
    ),
    _token(
        "discord_webhook", "/webhooks/", r"\bdiscord(?:app)?\.com/api/webhooks/([0-9]{15,22}/[A-Za-z0-9_-]{40,100})"
    ),
    _token("stripe_key", "sk_ rk_", r"\b[sr]k_(?:live|test|prod)_[A-Za-z0-9]{10,255}"),
    _token("stripe_webhook_secret", "whsec_", r"\bwhsec_[A-Za-z0-9+/=]{24,100}"),
    _token("google_api_key", "aiza", r"\bAIza[A-Za-z0-9_-]{35}"),
    _token("google_oauth_secret", "gocspx-", r"\bGOCSPX-[A-Za-z0-9_-]{20,40}"),
    _token("google_oauth_token", "ya29.", r"\bya29\.[A-Za-z0-9_-]{20,}"),
    _token("anthropic_key", "sk-ant-", r"\bsk-ant-[A-Za-z0-9_-]{20,255}"),
    _token("openrouter_key", "sk-or-", r"\bsk-or-v[0-9]-[A-Za-z0-9]{32,100}"),
    _token("openai_key", "sk-", r"\bsk-[A-Za-z0-9_-]{20,255}", check.random_token),
    _token("huggingface_token", "hf_", r"\bhf_[A-Za-z0-9]{30,60}\b"),
    _token("groq_key", "gsk_", r"\bgsk_[A-Za-z0-9]{40,60}"),
    _token("perplexity_key", "pplx-", r"\bpplx-[A-Za-z0-9]{40,60}"),
    _token("xai_key", "xai-", r"\bxai-[A-Za-z0-9]{60,100}"),
    _token("replicate_token", "r8_", r"\br8_[A-Za-z0-9]{36,40}\b"),
    _token("langsmith_key", "lsv2_", r"\blsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}"),
    _token("npm_token", "npm_", r"\bnpm_[A-Za-z0-9]{36}\b"),
    _token("pypi_token", "pypi-", r"\bpypi-[A-Za-z0-9_-]{40,}", check.digits_inside),
    _token("rubygems_key", "rubygems_", r"\brubygems_[a-f0-9]{48}"),
    _token("crates_token", "cio", r"\bcio[A-Za-z0-9]{32}\b", check.random_token),
    _token("sendgrid_key", "sg.", r"\bSG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}"),
    _token("twilio_key", "sk", r"\bSK[0-9a-f]{32}\b"),
    _prose("twilio_auth_token", "twilio", r"twilio[^\n]{0,60}\b([0-9a-f]{32})\b", check.random_token),
    _token("digitalocean_token", "_v1_", r"\bdo[opr]_v1_[a-f0-9]{64}"),
    _token("telegram_bot_token", ":aa", r"\b[0-9]{8,10}:AA[A-Za-z0-9_-]{32,34}"),
    _token(
        "discord_token",
        ".",
        r"\b[MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6,7}\.[A-Za-z0-9_-]{27,45}",
        check.random_token,
    ),
    _token("jwt", "eyj", r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]{8,}"),
    _token("azure_storage_key", "key=", r"\b(?:Account|SharedAccess)Key=([A-Za-z0-9+/]{40,100}={0,2})"),
    _token("azure_client_secret", "8q~", r"[A-Za-z0-9_~.]{3}8Q~[A-Za-z0-9_~.-]{31,34}"),
    _token("azure_sas_signature", "sig=", r"[?&]sig=([A-Za-z0-9%+/]{40,120}(?:=|%3[Dd])?)"),
    _token("mailgun_key", "key-", r"\bkey-[0-9a-f]{32}\b"),
    _token("mailchimp_key", "-us", r"\b[0-9a-f]{32}-us[0-9]{1,2}\b"),
    _token("brevo_key", "xkeysib-", r"\bxkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16}"),
    _token("shopify_token", "shp", r"\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    _token("linear_key", "lin_", r"\blin_(?:api|oauth)_[A-Za-z0-9]{32,64}"),
    _token("notion_token", "ntn_", r"\bntn_[A-Za-z0-9]{40,60}"),
    _token("notion_token", "secret_", r"\bsecret_[A-Za-z0-9]{43}\b"),
    _token("databricks_token", "dapi", r"\bdapi[a-f0-9]{32}(?:-[0-9])?\b"),
    _token("vault_token", "hv", r"\bhv[sbr]\.[A-Za-z0-9_-]{24,}"),
    _token("vault_token", "s.", r"\bs\.[A-Za-z0-9]{24}\b", check.random_token),
    _token("docker_token", "dckr_", r"\bdckr_[po]at_[A-Za-z0-9_-]{24,}"),
    _token("square_token", "sq0", r"\bsq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,50}"),
    _token("square_token", "eaaa", r"\bEAAA[A-Za-z0-9_-]{56,64}", check.random_token),
    _token("facebook_token", "eaa", r"\bEAA[A-Za-z0-9]{90,}"),
    _token("doppler_token", "dp.", r"\bdp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9_.-]{30,}"),
    _token("new_relic_key", "nra", r"\bNRA[KA][-L][A-Z0-9]{20,32}\b"),
    _token("grafana_token", "gl", r"\bgl(?:sa|c)_[A-Za-z0-9+/=_]{32,}"),
    _token("postman_key", "pmak-", r"\bPMAK-[a-f0-9]{24}-[a-f0-9]{34}"),
    _token("sentry_token", "sntry", r"\bsntry[su]_[A-Za-z0-9+/=_]{40,}"),
    _token("planetscale_token", "pscale_", r"\bpscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{32,64}"),
    _token("pulumi_token", "pul-", r"\bpul-[a-f0-9]{40}\b"),
    _token("terraform_token", "atlasv1", r"\b[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{50,80}"),
    _token("atlassian_token", "atatt atctt", r"\bAT[AC]TT3[A-Za-z0-9_=-]{50,}"),
    _token("figma_token", "figd_", r"\bfigd_[A-Za-z0-9_-]{36,60}"),
    _token("supabase_token", "sbp_ sb_secret_", r"\bsb(?:p_[a-f0-9]{40}|_secret_[A-Za-z0-9_-]{20,60})"),
    _token("airtable_token", "pat", r"\bpat[A-Za-z0-9]{14}\.[a-f0-9]{64}"),
    _token("tailscale_key", "tskey-", r"\btskey-[a-z]{3,10}-[A-Za-z0-9-]{16,80}", check.digits_inside),
    _token("heroku_key", "hrku-", r"\bHRKU-[A-Za-z0-9_-]{32,80}"),
    _token("alibaba_access_key", "ltai", r"\bLTAI[A-Za-z0-9]{16,24}\b", check.digits_inside),
    _token("onepassword_token", "ops_eyj", r"\bops_eyJ[A-Za-z0-9_=-]{40,}"),
    _text("basic_auth_url", "http", r"\bhttps?://[^\s:@/\x00]{0,80}:([^\s@/\x00]{2,200})@", check.url_password),
    _text(
        "connection_string",
        "://",
        r"\b[A-Za-z][A-Za-z0-9+.-]{1,24}://[^\s:@/\x00]{0,80}:([^\s@\x00]{2,200})@[A-Za-z0-9\[]",
        check.url_password,
    ),
    _text("authorization", "bearer", r"\b(?i:bearer) {1,3}([A-Za-z0-9._~+/=-]{20,})", check.random_token),
    _text("authorization", "basic", r"\b(?i:authorization)[\"']?: {0,3}[\"']?(?i:basic) {1,3}([A-Za-z0-9+/=]{8,})"),
)

# Prose, in lower case and without accents: a name, up to six words, a separator or a verb, the value.
_GAP = r"(?:[ \t]{1,3}[^\s:=.,;!?\"\x00]{1,24}){0,6}?"
_SIGN = r"\s{0,3}(?::|=>|->|=|-{1,2}>?)\s{0,3}"
_VERB = (
    r"[ \t]{1,3}(?:is|was|are|to|will be|it's|its|ist|war|lautet|auf|heisst|es|era|sera|son|est|etait|c'est|sera|e|eh|to|jest|это|есть|был|была|на|будет"
    r"|такои|теперь|станет|=)(?:[ \t](?:now|still|currently|just|jetzt|ahora|maintenant|теперь|просто))?[ \t]{0,2}:?[ \t]{1,3}"
)
_IS = rf"(?:{_SIGN}|{_VERB})"
_LOGIN = (
    r"(?:^|[^a-zа-я0-9])(?:passwords?|passwds?|passphrase|pass phrase|passcode|pwd|psw|pw|passwort|kennwort|zugangscode|contrasena|clave|mot de passe|mdp"
    r"|senha|palavra-passe|has[lł]o|heslo|wachtwoord|losenord|sifre[a-z]{0,3}|parola|парол[а-я]{1,3}|кодово[а-я]{1,2} слов[а-я]{1,2}"
    r"|wi-?fi (?:key|code|pass|password)|login details|credentials)"
)
_LOGIN_WORDS = (
    "passw passphrase passcode pwd psw pw pass kennwort zugangscode contrasena clave mdp senha palavra-passe haslo hasło heslo wachtwoord losenord sifre "
    "parola парол кодово wifi wi-fi login credentials"
)
_BARE = r"([^\s\"\x00]{4,128})"
_PIN = (
    r"(?:^|[^a-zа-я0-9])(?:pin(?:[ -]?(?:code|number|nummer))?|пин(?:[ -]?код)?[а-я]{0,2}|geheimzahl|geheimnummer|code (?:pin|secret)|nip|passcode|password"
    r"|passwort|contrasena|mot de passe|парол[а-я]{1,3}|codigo|(?:door|alarm|gate|access|unlock|safe|entry|lock|security|verification|voicemail|one-time) code|otp"
    r"|код от [а-я]{1,16}|код домофона|кодовыи замок|暗証番号)"
)
_PIN_WORDS = "pin пин geheim code nip pass contrasena codigo otp парол код 暗証番号"
_KEY = (
    r"(?:^|[^a-z0-9])(?:api[ _-]?keys?|apikey|(?:api|access|auth|bearer|refresh|session|bot|personal access|deploy|app)[ _-]?tokens?|tokens?"
    r"|(?:access|secret|private|client|encryption|signing|webhook|license|master|service|shared)[ _-]?(?:key|secret|token)|secret|ключ(?: api| доступа)?|токен"
    r"|schlussel|cle api|clave (?:api|secreta))"
)
_KEY_WORDS = "key token secret ключ токен schlussel cle clave"

_PROSE = (
    _prose(
        "wallet_key",
        "key",
        r"(?:private[ _]?key|privkey|wallet key)[^\n0-9a-f]{0,30}(?:0x)?([0-9a-f]{64})(?:[^0-9a-z]|$)",
    ),
    _prose(
        "card_security_code",
        "cvv cvc cvn",
        rf"\b(?:cvv2?|cvc2?|cvn){_GAP}(?:{_IS}|[ \t]{{1,3}})([0-9]{{3,4}})(?:[^0-9a-z]|$)",
    ),
    _prose("pin", _PIN_WORDS, rf"{_PIN}{_GAP}{_IS}[\"']?([0-9]{{4,8}})(?:[^0-9a-z:/-]|$)"),
    _prose(
        "pin",
        "pin пин код geheimzahl code",
        r"(?:^|[^a-zа-я0-9])(?:pin[ -]?code|pin number|(?:my|card|phone|bank|sim|voicemail) pin|(?:door|alarm|gate|entry|unlock) code"
        r"|(?:пин(?:[ -]?код)?[а-я]{0,2}|код от)(?: [а-я]{1,12}){0,3}|geheimzahl)[ \t]{1,3}([0-9]{4,8})(?:[^0-9a-z:/-]|$)",
    ),
    _prose(
        "pin", "pin code", r"(?:^|[^0-9a-z])([0-9]{4,8}) is (?:my|the|our) (?:[a-z]{1,12} ){0,2}(?:pin|passcode|code)\b"
    ),
    _prose(
        "pin",
        "combination",
        r"\bcombination(?: [a-z]{1,12}){0,5}[ :=]{1,3}([0-9]{1,2}(?:[ -][0-9]{1,2}){2,4})(?:[^0-9a-z]|$)",
    ),
    _prose(
        "password",
        _LOGIN_WORDS,
        rf"{_LOGIN}{_GAP}{_IS}[\"'`]([^\"`\n\x00]{{4,128}}?)[\"'`]",
        check.quoted_password,
    ),
    _prose("password", _LOGIN_WORDS, rf"{_LOGIN}{_GAP}{_IS}{_BARE}", check.stated_password),
    _prose("password", _LOGIN_WORDS, rf"{_LOGIN}(?:'s)?[ \t]{{1,3}}{_BARE}", check.bare_password),
    _prose(
        "password",
        _LOGIN_WORDS,
        rf"{_LOGIN}[ \t]{{0,2}}[:=][ \t]{{0,3}}([a-zа-я]{{5,40}})[.!]?(?:[\n\r,;]|$)",
        check.worded_password,
    ),
    _prose(
        "password",
        "password passwort passphrase passcode",
        r"\bmy (?:[a-z-]{1,16} ){0,2}(?:password|passphrase|passcode) is (?:now )?([a-z]{5,40})[.!]?(?:[\n\r]|$)",
        check.worded_password,
    ),
    _prose(
        "password",
        "password passcode passphrase passwort пароль",
        rf"(?:^|\s|[\"'`]){_BARE}[\"'`]? (?:is|as|ist|это|-) (?:my|the|our|a|mein|das|мои|наш)? ?(?:[a-z-]{{1,16}} )?(?:password|passcode|passphrase|passwort|пароль)(?:[^a-zа-я]|$)",
        check.stated_password,
    ),
    _prose(
        "password",
        "log sign credentials account wifi wi-fi",
        rf"\b(?:log ?in|sign in|credentials|account|wi-?fi)\b[^\n/]{{0,60}}[ \t]/[ \t]{_BARE}",
        check.stated_password,
    ),
    _prose(
        "password", "pass", rf"\b(?:user(?:name)?|login|admin)\b[^\n]{{0,60}}\bpass[ \t]{_BARE}", check.bare_password
    ),
    _prose(
        "password",
        "curl wget",
        r"\b(?:curl|wget)\b[^\n]{0,200}[ \t](?:-u|--user)[ =]?[\"']?[^\s:\"']{1,64}:([^\s\"'\x00]{2,128})",
        check.url_password,
    ),
    _prose("password", "sshpass", r"\bsshpass -p ?[\"']?([^\s\"'\x00]{2,128})", check.url_password),
    _prose(
        "password",
        "密 口令 パス 비밀번호",
        r"(?:密码|密碼|口令|パスワード|비밀번호)[^\s0-9A-Za-z]{0,4}[:=は是为為는은]?[ \t\"'「]{0,3}([!-~]{4,64})",
        check.stated_password,
    ),
    _prose(
        "password",
        "pass",
        r"\b(?:pass|passwd|pwd)[ \t]{0,2}[:=][ \t]{0,3}[\"'`]?([^\s\"'`,;\x00]{4,128})",
        check.assigned_password,
    ),
    _prose(
        "password",
        "-p",
        r"(?:^|\s)--?(?:password|passwd|passphrase|pass)[ =][\"']?([^\s\"'\x00]{4,128})",
        check.assigned_password,
    ),
    _prose(
        "password",
        "passw passphrase pwd",
        r"(?:passw(?:or)?d|passphrase|pwd)(?:[_-][a-z0-9]{1,16}|[0-9]{1,2})?[\"']?[ \t]{0,3}(?::=|=>|=|:)[ \t]{0,3}[\"'`]?([^\s\"'`,;\x00]{4,128})",
        check.assigned_password,
    ),
    _prose("api_key", _KEY_WORDS, rf"{_KEY}{_GAP}{_IS}[\"'`]?([a-z0-9_./+=~-]{{12,255}})", check.assigned_key),
    _prose(
        "api_key",
        "key token secret credential",
        r"(?:api[_-]?key|secret|token|credential|access[_-]?key|private[_-]?key|[a-z0-9]_key|[a-z0-9]-key)(?:[_-][a-z0-9]{1,16}|[0-9]{1,2})?"
        r"[\"']?[ \t]{0,3}(?::=|=>|=|:)[ \t]{0,3}[\"'`]?([a-z0-9_./+=~!@#$%^&*-]{12,255})",
        check.assigned_key,
    ),
    _prose(
        "seed_phrase",
        "phrase mnemonic seed",
        r"(?:seed|recovery|backup|wallet|mnemonic|secret)[ a-z]{0,24}[:=\"' ]{1,4}((?:[a-z]{3,8} ){11,23}[a-z]{3,8})",
        check.seed_words,
    ),
    _prose(
        "social_security_number",
        "ssn social",
        r"(?:\bssn\b|social security)[^\n0-9]{0,40}([0-9]{3}[ -][0-9]{2}[ -][0-9]{4})\b",
        check.social_security_number,
    ),
)

_NUMBERS = (
    _text("credit_card", "", r"\b[2-6](?:[ -]?[0-9]){12,18}\b", check.card_number),
    _text("iban", "", r"\b[A-Z]{2}[0-9]{2}(?:[ -]?[A-Z0-9]{2,4}){3,10}", check.iban),
)

RULES: tuple[Rule, ...] = (*_TOKENS, *_PROSE, *_NUMBERS)
"""Every rule, most telling first."""
KINDS = tuple(dict.fromkeys(rule.kind for rule in RULES))
