"""As much of pydantic as data_pipeline.py needs, for machines without it."""

import dataclasses


class BaseModel:
    def __init_subclass__(cls):
        dataclasses.dataclass(cls)
